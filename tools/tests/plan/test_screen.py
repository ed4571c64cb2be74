"""The screen of an answer: 80 columns, but a command is never broken."""

import pytest

from tlsmem.plan.screen import COLUMNS, Answer, plain_screen

COMMAND = "tools/tls-memtest cost openssl@3.5.5 --suite tls13-rsa-aes256-mutual"


@pytest.mark.parametrize(
    "command", [COMMAND, f"{COMMAND} --recording data/2026-11-26-amd-epyc-p355e", "make mem N=100"]
)
@pytest.mark.parametrize(("before", "after"), [("More: --details; ", ""), ("word " * 20, "; and more words" * 6)])
def test_a_command_is_on_one_line_and_the_words_around_it_are_wrapped(command, before, after):
    lines = plain_screen(Answer([], [], [before + command + after], [])).splitlines()
    assert sum(command in line for line in lines) == 1
    assert all(len(line) <= COLUMNS for line in lines if command not in line)
    assert " ".join(" ".join(lines).split()) == " ".join((before + command + after).split())
