"""An OpenSSL inside a package: what a pair holds, and one sentence for what cannot be had."""

import subprocess
import sys

import pytest

import shipped


def test_a_pair_is_the_difference_of_two_reports_by_pair():
    few, many = {"at_end_bytes": 1_000, "at_end_blocks": 7}, {"at_end_bytes": 4_000, "at_end_blocks": 27}
    assert shipped.pair_between(few, many, 20) == (150, 1)


@pytest.mark.parametrize(
    ("status", "output", "said"),
    [
        (shipped.UNCOUNTED, "3.5.6\n", None),
        (0, "3.5.6\n", None),
        (0, "3.5.7\n", "it has OpenSSL 3.5.7 inside, and not 3.5.6 as packages.toml says"),
        (1, "", "its program failed: the reason"),
    ],
)
def test_a_program_that_fails_or_has_another_openssl_is_refused(monkeypatch, status, output, said):
    def run(command, **_):
        report = command[command.index("--out") + 1]
        with open(report, "w") as file:
            file.write('{"at_end_bytes": 1}\n{"at_end_bytes": 2}\n')
        return subprocess.CompletedProcess(command, status, output, "Traceback\nthe reason\n\n")

    monkeypatch.setattr(shipped.subprocess, "run", run)
    if said is None:
        assert shipped.run_pairs(["x"], 1, "3.5.6") == {"at_end_bytes": 2}
    else:
        with pytest.raises(ValueError) as refused:
            shipped.run_pairs(["x"], 1, "3.5.6")
        assert str(refused.value) == said


def test_another_file_than_was_pinned_is_refused(tmp_path):
    (tmp_path / "a.whl").write_text("x")
    with pytest.raises(ValueError, match=r"a\.whl has the SHA-256 2d711642b726b044.*pins 00"):
        shipped.checked(tmp_path, {"sha256": "00"})


def test_a_client_that_fails_or_is_missing_is_one_sentence():
    with pytest.raises(ValueError, match=r"^pip cannot fetch or install it: no such version$"):
        shipped.call([sys.executable, "-c", "import sys; sys.exit('looking\\nno such version')"], "pip")
    with pytest.raises(ValueError, match=r"^npm is not installed$"):
        shipped.call(["no-such-program-here"], "npm")


def test_what_was_installed_is_not_fetched_again_unless_another_is_pinned(tmp_path):
    asked = []
    for sum_ in ("a", "a", "b"):
        shipped.install_once(tmp_path / "node-1.2", {"sha256": sum_}, asked.append)
    assert len(asked) == 2


def test_the_others_are_measured_where_one_cannot_be_had(monkeypatch, capsys):
    def measure(name, package):
        if name == "node 20.20.2":
            raise ValueError("npm is not installed")
        return shipped.Pair(1_234.5, 6)

    monkeypatch.setattr(shipped, "measure", measure)
    monkeypatch.setattr(sys, "argv", ["shipped.py"])
    with pytest.raises(SystemExit) as stop:
        shipped.main()
    assert str(stop.value) == "shipped: node 20.20.2: npm is not installed"
    shown = capsys.readouterr().out
    assert "| cryptography 46.0.7 | 3.5.6 | 1,234 | 6.0 |" in shown and "node 22.23.3" in shown
