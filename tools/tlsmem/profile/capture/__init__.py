"""Take a profile: a harness under heaptrack, massif, DHAT, callgrind or the heap meter."""
