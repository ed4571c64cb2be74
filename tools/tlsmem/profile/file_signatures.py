"""Beginnings of files that tell which tool wrote them."""

HEAPTRACK = (b"v ", b"\n# strings: 0\n")  # the latter of a recording without anything in it
MASSIF = b"desc:"
DHAT_ZIP = b"PK\x03\x04"
HEAP_TEXT = b"heap profile:"  # gperftools, tcmalloc and Go
JEMALLOC = b"heap_v2/"
CALL_TREES = b"# callgrind format"  # massif's call trees, which are kept as a zip beside its profile
