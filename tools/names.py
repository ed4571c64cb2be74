#!/usr/bin/env python3
"""Check what was asked for, before anything is installed or built: `names.py N=10000 STACKS="openssl@3.5.5"`."""

if __name__ == "__main__":
    from tlsmem.config.option_check import main

    main()
