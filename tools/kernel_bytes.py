#!/usr/bin/env python3
"""What an idle TCP connection costs the kernel."""

from tlsmem.cli.kernel_bytes import main

if __name__ == "__main__":
    main()
