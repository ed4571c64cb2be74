#!/usr/bin/env python3
"""Where the bytes are: who holds the memory of a heap profile, at which moment, and for how many sessions."""

from tlsmem.cli.inspect_heaptrack import main

if __name__ == "__main__":
    main()
