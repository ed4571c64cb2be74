#!/usr/bin/env python3
"""Install the system packages that a purpose needs: `packages.py check`, `packages.py mem --allocator jemalloc`."""

if __name__ == "__main__":
    from tlsmem.build.system_packages import main

    main()
