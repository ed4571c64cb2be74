"""The workflow that publishes the site: what it runs, what it may do; and that others cannot change the actions of any
workflow."""

import re

import pytest

import checks
from tlsmem.base.paths import ROOT

TEXT = (ROOT / ".github/workflows/site.yml").read_text()
BUILD, PUBLISH = re.search(r"\n  build:\n(.*)\n  publish:\n(.*)", TEXT, re.DOTALL).groups()


def test_it_builds_what_make_docs_builds_and_uploads_that():
    assert "- run: make docs\n" in BUILD
    place = re.search(r"upload-pages-artifact@.*\n +with:\n +path: (\S+)", BUILD)[1]
    assert any("sphinx-build" in command and command.endswith(f" docs {place}") for command in checks.docs({}))


def test_only_its_second_job_may_publish_and_only_main():
    assert re.search(r"^permissions: \{\}$", TEXT, re.MULTILINE)
    assert re.findall(r"(\w[\w-]*): (?:read|write)$", BUILD, re.MULTILINE) == ["contents"]
    assert re.findall(r"(\w[\w-]*): (?:read|write)$", PUBLISH, re.MULTILINE) == ["pages", "id-token"]
    assert PUBLISH.startswith("    if: github.ref == 'refs/heads/main' ")
    assert "pull_request" not in TEXT


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github/workflows").iterdir()), ids=lambda file: file.name)
def test_actions_are_pinned_by_commit(workflow):
    used = re.findall(r"uses: \S+@(\S+)", workflow.read_text())
    assert used and all(re.fullmatch("[0-9a-f]{40}", commit) for commit in used)
