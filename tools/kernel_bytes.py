#!/usr/bin/env python3
"""What an idle TCP connection costs the kernel."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.kernel_bytes import main

if __name__ == "__main__":
    main()
