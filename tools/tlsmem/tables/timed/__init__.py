"""Tables of timed runs: throughput, handshakes, latency, threads."""
