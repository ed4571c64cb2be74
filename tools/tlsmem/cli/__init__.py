"""The commands: one argument parser each."""
