#!/usr/bin/env python3
"""Walk a library's releases."""

from tlsmem.cli.compare_versions import main

if __name__ == "__main__":
    main()
