"""Flamegraphs: a page with all moments of a profile, a picture of one, and both of a diff."""
