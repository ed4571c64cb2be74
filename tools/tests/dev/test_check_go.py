"""A fault of style or of a test fails the check; without Go of its version one line says so, and nothing is fetched."""

import os

import pytest

import go_checks
from tests.build.test_go_stack import clone, needs_go, repin  # noqa: F401
from tlsmem.base.paths import ROOT


@pytest.fixture
def checked(clone, monkeypatch, capfd):  # noqa: F811
    """checked(what): the exit status, and what was said."""
    (clone / "build").mkdir()
    (clone / "build/go").symlink_to(ROOT / "build/go")  # its cache, by content
    monkeypatch.setattr(go_checks, "ROOT", clone)
    monkeypatch.setattr(os, "environ", dict(os.environ))

    def check(what):
        try:
            go_checks.run(what)
        except SystemExit as done:
            return done.code, capfd.readouterr()
        return 0, capfd.readouterr()

    return check


FAULTS = {
    "gofmt -l .": ("style", "core/barrier.go", "\n\n\nvar  wide int\n"),
    "go vet ./...": ("style", "core/barrier.go", '\nfunc told() string { return fmt.Sprintf("%d", "no number") }\n'),
    "go test ./...": ("tests", "tls/suite_test.go", '\nfunc TestThatFails(t *testing.T) { t.Error("as planted") }\n'),
}


@pytest.mark.thorough
@needs_go
@pytest.mark.parametrize("command", FAULTS)
def test_a_fault_fails_the_check_by_its_command(clone, checked, command):  # noqa: F811
    what, file, text = FAULTS[command]
    with (clone / "harness-go" / file).open("a") as source:
        source.write(text)
    status, said = checked(what)
    assert status == 1 and f"`{command}` in harness-go" in said.err


@needs_go
def test_another_version_is_left_out_and_not_fetched(clone, checked):  # noqa: F811
    repin(clone, "1.26.99")
    status, said = checked("tests")
    assert status == 0 and said.out.startswith("check: left out: tests of harness-go: Go 1.26.99 is needed")
    assert said.out.count("\n") == 1


def test_without_go_one_line_says_so(checked, monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path / "empty"))
    status, said = checked("style")
    assert status == 0 and said.out.endswith("go is not installed\n") and said.out.count("\n") == 1
