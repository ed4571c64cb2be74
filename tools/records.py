#!/usr/bin/env python3
"""Records of runs: what data/ keeps of a run, one line each, and how it is read back. See docs/records.md."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.schema.records import main

    main()
