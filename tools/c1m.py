#!/usr/bin/env python3
"""Make a million live TLS sessions in one process, and compare their memory with what smaller runs predict."""

from tlsmem.cli.c1m import main

if __name__ == "__main__":
    main()
