#!/usr/bin/env python3
"""What an idle TCP connection costs the kernel."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.tables.kernel_bytes import main

    main()
