"""The index by question: each command prints the answer below it, and a question begins with its answer."""

import re
import shlex
import sys

import pytest

from tests.support import forked_command
from tlsmem.base.paths import ROOT

TEXT = (ROOT / "docs/questions.md").read_text()
COMMAND = "$ tools/tls-memtest "
ELSEWHERE = ("heap ", "build ", "diff builds ", "measure ")  # these need a server or builds
QUESTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## )", TEXT, re.DOTALL | re.MULTILINE))
PACKAGES = r"CVE-[\d-]+|RSA-\d+|Ubuntu \d+\.\d+|\d+\.\d+\.\d+-\dubuntu\d+\.\d+"
NAMES = re.compile(  # releases, series, …
    rf"X25519(?:MLKEM768)?|{PACKAGES}|\d+\.\d+\.\d+\w*|\d+\.\d+(?= before )|\d\.\d to \d\.\d|TLS 1\.\d|data/\S+"
)
NUMBER = re.compile(r"\d+,[\d,]*\d|\d{4,}|\d+\.\d+|\d+ ?%")


def answers(text):
    """Each command of the page with the lines that stand below it."""
    for block in re.findall(r"^```text\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for part in block.removeprefix(COMMAND).split(f"\n{COMMAND}"):
            yield part.splitlines()[0], part.splitlines()[1:]
    for options, answer in re.findall(r"^\|[^|]*\| `(--as [^`]*)` \| ([\d.]+ [MG]iB)", text, re.MULTILINE):
        yield f"plan memory --connections 100000 {options}", [f"Provision {answer} for"]


def answer(words):
    return forked_command.run([sys.executable, ROOT / "tools/tls-memtest", *shlex.split(words)], cwd=ROOT).stdout


RECORDED = list({words: lines for words, lines in answers(TEXT) if not words.startswith(ELSEWHERE)}.items())


QUICK = ("cost ", "plan ")  # how commands begin that read what is cached
EACH = [
    pytest.param(words, lines, id=words, marks=[] if words.startswith(QUICK) else pytest.mark.thorough)
    for words, lines in RECORDED
]


@pytest.mark.parametrize(("words", "lines"), EACH)
def test_a_command_prints_the_answer_of_the_page(words, lines):
    printed = answer(words).splitlines()
    missing = [line for line in lines if not any(found.startswith(line) for found in printed)]
    assert lines and not missing, f"docs/questions.md: `{words}` does not print this any more; correct the page"


def numbers(text):
    return {float(one.strip(" %").replace(",", "")) for one in NUMBER.findall(NAMES.sub("", text))}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_begins_with_its_answer(question):
    """Its numbers are options of the commands below it, printed by them, or a sum, a difference or a saving of two
    that are."""
    first, _, rest = QUESTIONS[question].strip().partition("\n")
    assert re.fullmatch(r"\*\*.*\*\*", first), first
    assert COMMAND in rest and re.search(r"\]\([\w/.-]+\.(md|cff)", rest)
    printed = numbers("\n".join(line for _, lines in answers(rest) for line in lines))
    pairs = [(one, other) for one in printed for other in printed if other]
    computed = {abs(round(100 * (1 - one / other))) for one, other in pairs}
    computed |= {abs(one - other) for one, other in pairs} | {one + other for one, other in pairs}
    options = {float(number) for words, _ in answers(rest) for number in re.findall(r"(?<= )\d{4,}", words)}
    assert numbers(first) <= printed | computed | options, first
