#!/usr/bin/env python3
"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. What has not changed is kept."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.build.build_stacks import main

    main()
