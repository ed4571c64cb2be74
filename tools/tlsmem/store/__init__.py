"""Recordings as flat tables of columns: each file is checked once, and what is read of it are columns."""
