"""Figures of timed runs."""
