#!/usr/bin/env python3
"""Run a campaign of memtest/campaigns.toml and record every run; what is recorded already is not run again."""

from tlsmem.cli.measure import main

if __name__ == "__main__":
    main()
