"""The index by question: each command prints the answer that stands below it, and each question has a page."""

import re
import sys

import pytest

from tests.support import forked_command
from tlsmem.base.paths import ROOT

PAGE = ROOT / "docs/questions.md"
TEXT = PAGE.read_text()
COMMAND = "$ tools/tls-memtest "
ELSEWHERE = ("heap ", "diff builds ")  # these need a server or builds


def answers(text):
    """Each command of the page with the lines that stand below it."""
    for block in re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        commands, lines = [], []
        for line in block.splitlines():
            (commands if line.startswith(COMMAND) else lines).append(line.removeprefix(COMMAND))
        yield commands[-1], lines
    for options, answer in re.findall(r"^\|[^|]*\| `(--as [^`]*)` \| ([\d.]+ [MG]iB)", text, re.MULTILINE):
        yield f"plan memory --connections 100000 {options}", [f"Provision {answer} for"]


def answer(words):
    return forked_command.run([sys.executable, ROOT / "tools/tls-memtest", *words.split()], cwd=ROOT).stdout


RECORDED = [one for one in answers(TEXT) if not one[0].startswith(ELSEWHERE)]


@pytest.mark.parametrize(("words", "lines"), RECORDED, ids=[words for words, _ in RECORDED])
def test_a_command_prints_the_answer_of_the_page(words, lines):
    printed = answer(words).splitlines()
    missing = [line for line in lines if not any(found.startswith(line) for found in printed)]
    assert lines and not missing, f"docs/questions.md: `{words}` does not print this any more; correct the page"


def test_each_of_twelve_questions_has_a_command_and_a_page():
    questions = re.split(r"^## ", TEXT.partition("## More questions")[0], flags=re.MULTILINE)[1:]
    assert len(questions) == 12
    for question in questions:
        assert COMMAND in question, question
        assert re.search(r"\]\([\w/-]+\.md", question), question
