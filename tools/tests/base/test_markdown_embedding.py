"""Text put into a page, at the command that makes it."""

import argparse

import pytest

from tlsmem.base import markdown_embedding
from tlsmem.cli import registry


@pytest.mark.parametrize("words", [["./data/x"], ["--diff", "data/../data/x", "data//y"]])
def test_the_same_file_by_another_way_is_the_same_command(tmp_path, words):
    parser = argparse.ArgumentParser(prog="look.py")
    parser.add_argument("recording", nargs="?")
    parser.add_argument("--diff", nargs=2)
    page = tmp_path / "page.md"
    page.write_text(f"<!-- begin: tools/look.py {' '.join(words)} -->\nold\n<!-- end -->\n")
    plain = ["--diff", "data/x", "data/y"] if "--diff" in words else ["data/x"]
    markdown_embedding.replace_block(page, parser.parse_args(plain), parser, "new")
    assert "new" in page.read_text() and "old" not in page.read_text()


@pytest.mark.parametrize(
    "words", ["show tables data/x --pq", "plan memory --connections 5 --mtls --tls12", "cost --pq"]
)
def test_a_suite_in_words_is_the_same_command(tmp_path, words):
    [found] = [one for one in registry.all_commands() if one.words and words.startswith(f"{one.words} ")]
    parser, options = found.parser(), words.removeprefix(f"{found.words} ").split()
    page = tmp_path / "page.md"
    page.write_text(f"<!-- begin: tools/tls-memtest {words} -->\nold\n<!-- end -->\n")
    given = found.parse([*options, "--into", str(page)], parser)
    assert given.suite and given.suite != parser.get_default("suite")
    markdown_embedding.replace_block(page, given, parser, "new")
    assert "new" in page.read_text()
