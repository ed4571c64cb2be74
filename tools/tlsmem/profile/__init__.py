"""Heap profiles: one model, a reader for each file format, capture, and buckets."""
