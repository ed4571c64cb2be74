"""Runs that are timed: how they are made, what they come to, and how it is shown."""
