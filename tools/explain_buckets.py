#!/usr/bin/env python3
"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.tables.explain_buckets import main

    main()
