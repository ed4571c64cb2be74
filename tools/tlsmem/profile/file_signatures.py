"""Beginnings of files that tell which tool wrote them."""

HEAPTRACK = (b"v ", b"\n# strings: 0\n")  # the latter of a recording without anything in it
MASSIF = b"desc:"
DHAT_ZIP = b"PK\x03\x04"
HEAP_TEXT = b"heap profile:"  # gperftools, tcmalloc and Go
JEMALLOC = b"heap_v2/"
MEMRAY, LZ4 = b"memray\0", b"\x04\x22\x4d\x18"
CALL_TREES = b"# callgrind format"  # massif's call trees, which are kept as a zip beside its profile


def is_memray(start: bytes) -> bool:
    """Return whether a file begins as memray's do: plain, or packed by LZ4, which keeps its first bytes."""
    return start.startswith(MEMRAY) or (start.startswith(LZ4) and MEMRAY in start[:32])
