#!/usr/bin/env python3
"""Every stack that is known."""

from tlsmem.cli.list_stacks import main

if __name__ == "__main__":
    main()
