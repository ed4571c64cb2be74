"""Taking profiles: a harness under heaptrack, massif, DHAT or the heap meter, kept beside a recording."""
