"""Harnesses that tests run: of stacks that are built, and of these the ones that the tests were asked to try."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT

NULLS = ("null@c", "null@rust", "null@go")  # the core in each language, which is tried whatever was asked
tried: set[str] = set()  # by --stacks; empty: all that are built


def find(stack: str) -> Path:
    """Return the harness of this stack, or skip the test."""
    if why := why_not_tried(stack):
        pytest.skip(why)
    return ROOT / "build/harness" / stack


def why_not_tried(stack: str) -> str:
    """Return why a test skips this stack; an empty string where it does not."""
    if tried and stack not in tried and stack not in NULLS:
        return f"{stack} is not tried: make check-stacks, or make check STACKS={stack}"
    if not (ROOT / "build/harness" / stack).is_file():
        return f"{stack} is not built: tools/tls-memtest build {stack}"
    return ""


def choose(stacks: Iterable[str]) -> list[str]:
    """Return those that are tried; the first where none is, so that a test says why it is skipped. A test for each of
    many stacks is then not collected thousands of times to be skipped."""
    known = list(stacks)
    return [stack for stack in known if not why_not_tried(stack)] or known[:1]
