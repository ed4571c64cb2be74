"""Where things are in a clone."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # of the repository
