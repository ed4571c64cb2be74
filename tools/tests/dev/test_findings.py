"""Findings: each is a heading with a number and a command, and the index has a line for each."""

import re

import pytest

from tlsmem.base.paths import ROOT

INDEX = (ROOT / "docs/findings/index.md").read_text()
TOPICS = re.search(r"toctree.*?:hidden:\n(.*?)```", INDEX, re.DOTALL)[1].split()


def findings(topic: str) -> dict[str, str]:
    """The findings of a page: their text by heading."""
    parts = re.split(r"^## (.*)\n", (ROOT / f"docs/findings/{topic}.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_index_names_every_page():
    assert {file.stem for file in (ROOT / "docs/findings").glob("*.md")} == {*TOPICS, "index"}
    assert re.findall(r"^## \[.*\]\((.*)\.md\)$", INDEX, re.MULTILINE) == TOPICS


@pytest.mark.parametrize("topic", TOPICS)
def test_the_index_has_a_line_for_each_finding(topic):
    assert re.findall(rf"^- \[(.*)\]\({topic}\.md#.*\)$", INDEX, re.MULTILINE) == [*findings(topic)]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_finding_has_a_number_and_a_command(topic):
    for heading, text in findings(topic).items():
        assert re.search(r"\d", heading), heading
        assert re.search(r"^ {4,}(tools/tls-memtest|make) ", text, re.MULTILINE), heading
