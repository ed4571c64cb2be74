#!/usr/bin/env python3
"""Install the system packages that a purpose needs: `packages.py check`, `packages.py mem --allocator jemalloc`."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

if __name__ == "__main__":
    from tlsmem.build.system_packages import main

    main()
