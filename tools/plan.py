#!/usr/bin/env python3
"""How much memory TLS connections need."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.plan.answer import main

    main()
