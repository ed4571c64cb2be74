"""Harnesses that tests run: of stacks that are built, and of these the ones that the tests were asked to try."""

from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT

NULLS = ("null@c", "null@rust", "null@go")  # the core in each language, which is tried whatever was asked
tried: set[str] = set()  # by --stacks; empty: all that are built


def find(stack: str) -> Path:
    """Return the harness of this stack, or skip the test."""
    if tried and stack not in tried and stack not in NULLS:
        pytest.skip(f"{stack} is not tried: make check-stacks, or make check STACKS={stack}")
    harness = ROOT / "build/harness" / stack
    if not harness.is_file():
        pytest.skip(f"{stack} is not built: tools/tls-memtest build {stack}")
    return harness
