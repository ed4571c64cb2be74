#!/usr/bin/env python3
"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. What has not changed is kept."""

from tlsmem.cli.build import main

if __name__ == "__main__":
    main()
