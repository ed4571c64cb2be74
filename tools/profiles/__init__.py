"""Heap profiles: one model of what was live by call stack, and a reader for each form of file."""
