#!/usr/bin/env python3
"""Run a campaign of memtest/campaigns.toml and record every run; what is recorded already is not run again."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.cli.measure_campaign import main

    main()
