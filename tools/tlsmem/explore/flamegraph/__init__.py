"""Flamegraphs of a profile: an interactive page, and an SVG of one moment."""
