"""What changed between two recordings: known answers, refusals, exit statuses, and what a pull request is told."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import planted, synthetic, synthetic_timed
from tlsmem.base.paths import ROOT
from tlsmem.cli import compare as command
from tlsmem.compare import comparison_output, largest_changes
from tlsmem.compare.comparison import Comparison, FigureFilter, compare
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.schema import read_records
from tlsmem.schema.records import Record

HELLO = "tls_construct_server_hello"
MORE = planted.with_sites("server", **{HELLO: (4_132, 20)})
SENTENCE = (
    "More in tls13-rsa-aes256: server session, established: 14,116 -> 14,132 B (+16 B, exact, 40 -> 40 blocks), "
    "all of it in tls_construct_server_hello (ssl.c:13)"
)


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys, monkeypatch) -> Callable[..., Done]:
    """As the script does it, in this process."""

    def made(*words: str | Path) -> Done:
        status, said = 0, ""
        monkeypatch.setattr(sys, "argv", ["compare.py", *map(str, words)])
        try:
            command.main()
        except SystemExit as end:
            status, said = (end.code, "") if isinstance(end.code, int) else (1, str(end.code))
        captured = capsys.readouterr()
        return Done(status, captured.out, captured.err + said)

    return made


def scripted(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/compare.py"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_script_ends_with_3_where_something_changed(old, new):
    done = scripted(old, new)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    return planted.write(tmp_path_factory.mktemp("old"), planted.counted(), planted.resident((1.0, 1.001, 1.002)))


@pytest.fixture(scope="module")
def new(tmp_path_factory) -> Path:
    """16 B more of a server session, in one place; RSS as before."""
    return planted.write(tmp_path_factory.mktemp("new"), planted.counted(MORE), planted.resident((1.001, 1.0, 1.002)))


def sentences(found: Comparison) -> list[str]:
    explained = CallSiteExplainer(found)
    return [mover.sentence(explained) for mover in largest_changes.select_largest(found)]


def changed_machine(**machine) -> list[Record]:
    known = planted.run("heap", 20).machine.model_dump()
    return planted.counted(machine=known | machine)


def test_sixteen_bytes_are_found_by_name(run, old, new):
    done = run(old, new)
    assert (done.returncode, done.stderr) == (3, "")
    head, _, first = done.stdout.splitlines()[:3]
    assert head.startswith("**OLD is ") and " 10 of " in head and head.endswith(" changed, 10 for the worse.**")
    assert first == f"- {SENTENCE}"


def test_what_did_not_change_is_no_change(run, old):
    done = run(old, old)
    assert done.returncode == 0
    assert "no change in" in done.stdout.splitlines()[0]
    assert " more (" not in done.stdout


def test_the_way_back_is_less(run, old, new):
    done = run(new, old)
    assert done.returncode == 3
    assert "Less in tls13-rsa-aes256: server session, established: 14,132 -> 14,116 B (-16 B, exact" in done.stdout
    assert "for the better" in done.stdout.splitlines()[0]


def test_tables_have_both_figures_and_the_difference(run, old, new):
    done = run(old, new, "--format", "json", "--meter", "heap")
    tables = {one["name"]: one["rows"] for one in json.loads(done.stdout)["tables"]}
    (row,) = [one for one in tables["heap"] if (one["role"], one["phase"]) == ("server", "idle")]
    assert (row["old"], row["new"]) == (14_116, 14_132)
    assert row["difference"] == {"amount": 16, "share": round(16 / 14_116, 6), "verdict": "changed"}
    assert row["blocks"] == {"old": 40, "new": 40, "verdict": "no change"}
    assert tables["summary"][0]["status"] == 3
    sites = tables["sites"]
    assert [one["more_bytes"] for one in sites] == [16, 16]  # the site, and in all
    assert tables["movers"][0]["sentence"].endswith("(ssl.c:13)")


def test_csv_has_the_values(run, old, new):
    text = run(old, new, "--format", "csv", "--meter", "heap").stdout
    heap = text.split("# heap\n")[1].split("\n\n")[0]
    rows = list(csv.DictReader(io.StringIO(heap)))
    assert {row["difference_verdict"] for row in rows} == {"changed", "no change"}


def test_markdown_folds_what_is_long_and_nothing_else(run, old, new):
    text = run(old, new, "--format", "markdown").stdout
    assert "<details><summary>Live heap per session: 10 of 18 changed</summary>\n\n**Live heap" in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert text.index("- More in") < text.index("<details>")
    sites = text[text.index("**Call sites**") :]
    assert "<details>" not in sites


def test_a_terminal_folds_nothing(run, old, new):
    text = run(old, new, "--format", "table").stdout
    assert "<details>" not in text and "**" not in text
    assert "Largest changes:" in text


def test_rss_within_the_spread_of_repeats_is_no_change_and_beyond_it_a_change():
    before = planted.resident((1.0, 1.01, 0.99))
    assert compare(before, planted.resident((1.005, 1.0, 0.995))).changed == []
    found = compare(before, planted.resident((1.05, 1.06, 1.04)))
    assert len(found.changed) == len(found.rows) > 6
    assert "RSS: " in sentences(found)[0] and "beyond the spread of 3 repeats" in sentences(found)[0]


def test_counts_that_repeat_on_one_side_only_are_not_called_measured_once():
    again = [
        one.model_copy(update={"repeat": 2})
        for one in planted.counted(planted.with_sites("server", SSL_new=(10_001, 20)))
    ]
    found = compare([*planted.counted(), *again], planted.counted(MORE))
    assert "beyond the spread of 1 and 2 repeats" in sentences(found)[0]


def test_slower_is_said_in_words_and_by_an_interval():
    of = [planted.STACK], [planted.SUITE]
    before, after = (
        synthetic_timed.campaign(*of, factors=[by * one for one in synthetic_timed.FACTORS]) for by in (1.0, 1.25)
    )
    found = compare(before, after)
    assert sentences(found)[0].startswith("Slower in tls13-rsa-aes256: client session, handshake, handshakes a second")
    assert "95 % interval of the factor 0.800 to 0.800" in sentences(found)[0]
    assert all(row.change.better is False for row in found.rows)


def test_the_same_of_two_suites_is_said_once():
    before, after = (
        [run for suite in ("tls13-rsa-aes256", "tls12-rsa-aes256") for run in planted.counted(sites, suite=suite)]
        for sites in (planted.SITES, MORE)
    )
    (sentence,) = sentences(compare(before, after))
    assert sentence.endswith("; the same in tls12-rsa-aes256")


APART = {
    "machine": ({"machine": {"cpu": "Another CPU"}}, "machine is Example CPU, 2 CPUs in OLD and Another CPU"),
    "kernel": ({"machine": {"kernel": "7.0"}}, "kernel is 6.1.0 in OLD and 7.0 in NEW"),
    "compiler": ({"compiler": "gcc 13.1.0"}, "compiler is gcc 12.2.0 in OLD and gcc 13.1.0 in NEW"),
    "flags": ({"flags": "-O0"}, "flags is -O3 in OLD and -O0 in NEW"),
    "allocator": (
        {"allocator": {"name": "system", "version": "glibc 2.40", "settings": None, "library": None}},
        "allocator is system glibc 2.36 in OLD and system glibc 2.40 in NEW",
    ),
    "settings": (
        {"allocator": {"name": "system", "version": "glibc 2.36", "settings": "a=1", "library": None}},
        "allocator is system glibc 2.36 in OLD and system (a=1) glibc 2.36 in NEW",
    ),
    "window": ({"window": 10}, "window is all in OLD and 10 in NEW"),
    "roles": ({"env": "deployed"}, "environment is lab"),
    "cpu": (
        {"cpu_features": {"name": "no-aes", "variables": {"A": "1"}}},
        "CPU features is all in OLD and no-aes (A=1)",
    ),
}
WORDS = {
    "certs": "certs=memtest/certs/ecdsa-p256",
    "tickets": "tickets=2",
    "store": "store=on",
    "knobs": "knobs=best",
    "auth": "auth=mutual",
}
APART |= {
    name: ({"argv": ["build/harness/x", "memory", "certs=memtest/certs/rsa-2048", word]}, f"{name} is ")
    for name, word in WORDS.items()
}


@pytest.mark.parametrize("name", APART)
def test_runs_whose_settings_differ_are_not_compared_unless_told(name: str):
    changes, said = APART[name]
    machine = planted.run("heap", 20).machine.model_dump()
    changes = changes | ({"machine": machine | changes["machine"]} if "machine" in changes else {})
    after = planted.counted(**changes)
    refused = compare(planted.counted(), after)
    assert refused.rows == () and comparison_output.exit_status(refused) == 1
    assert said in "; ".join(map(str, refused.refused[0].apart))
    forced = compare(planted.counted(), after, force=True)
    assert forced.rows and said in "; ".join(map(str, forced.forced))


def test_what_by_names_may_differ_and_nothing_else():
    before, after = planted.counted(), planted.counted(stack="boringssl@5.4.0", compiler="clang 14", flags="-O2")
    assert compare(before, after, by=["stack"]).rows
    after = [one.model_copy(update={"machine": one.machine.model_copy(update={"kernel": "7"})}) for one in after]
    assert not compare(before, after, by=["stack"]).rows


def test_mixed_machines_inside_one_side_are_told(run, tmp_path):
    others = [run.model_copy(update={"started_at": "2026-01-30T12:00:00Z"}) for run in changed_machine(kernel="5.0")]
    mixed = planted.write(tmp_path, planted.counted(), others)
    done = run(mixed, mixed)
    assert done.returncode == 0
    assert "3 runs of openssl@3.5.5 in tls13-rsa-aes256" in done.stdout and "on another machine" in done.stdout


def test_one_stack_on_each_side_is_one_pair_whatever_they_are_called():
    found = compare(planted.counted(), planted.counted(MORE, stack="openssl@git-3f2a1b9c04de"))
    assert {row.match.stack for row in found.rows} == {"openssl@3.5.5 -> openssl@git-3f2a1b9c04de"}
    assert found.rows[0].place.suite == planted.SUITE


def test_stacks_of_two_names_are_paired_by_name(run, tmp_path):
    others = planted.counted(stack="boringssl@5.4.0")
    before = planted.write(tmp_path / "old", planted.counted(), others)
    after = planted.write(tmp_path / "new", planted.counted(MORE, stack="openssl@3.6.3"), others)
    done = run(before, after, "--stack", "openssl@3.5.5=openssl@3.6.3")
    assert done.returncode == 3 and "boringssl" not in done.stdout
    alone = run(before, after)
    assert alone.returncode == 0
    assert "OLD alone has tls13-rsa-aes256, openssl@3.5.5" in alone.stdout


def test_two_selections_of_one_recording(run, tmp_path):
    kind = {"allocator": {"name": "jemalloc", "version": "5.3.0", "settings": None, "library": "libjemalloc.so"}}
    both = planted.write(tmp_path, planted.resident((1.0,)), planted.resident((1.5,), **kind))
    done = run(both, "--by", "allocator", "system", "jemalloc")
    assert done.returncode == 3 and "OLD is system, NEW is jemalloc" in done.stdout
    assert run(both, "--by", "allocator", "jemalloc", "jemallo").returncode == 2
    two = planted.write(tmp_path / "two", planted.counted(), planted.counted(MORE, suite="tls12-rsa-aes256"))
    by_suite = run(two, "--by", "suite", "tls13-rsa-aes256", "tls12-rsa-aes256")
    assert by_suite.returncode == 3
    assert "tls13-rsa-aes256 -> tls12-rsa-aes256: server session, established: 14,116 -> 14,132" in by_suite.stdout


def test_compilers_are_told_apart_by_name(run, tmp_path):
    clang = planted.counted(MORE, stack="openssl+clang@3.5.5", compiler="clang 14.0.6")
    both = planted.write(tmp_path, planted.counted(), clang)
    done = run(both, "--by", "compiler", "gcc", "clang")
    assert done.returncode == 3 and "14,116 -> 14,132" in done.stdout


def test_what_one_side_has_alone_is_listed_with_why(run, tmp_path, new):
    unsupported = [
        synthetic.failed(planted.STACK, "tls13-rsa-aes256-pq", n, "no such group", "unsupported", meter)
        for n, meter in ((20, "heap"), (200, "heap"))
    ]
    more = [run for run in planted.counted(suite="tls13-rsa-aes256-pq") if run.meter == "heap"]
    before = planted.write(tmp_path / "old", planted.counted(), unsupported)
    after = planted.write(tmp_path / "new", planted.counted(), more)
    done = run(before, after)
    assert done.returncode == 0
    assert "NEW alone has" in done.stdout and "in OLD: unsupported: no such group" in done.stdout
    rss = run(before, new)
    assert "NEW alone has" in rss.stdout and "in OLD: not measured" in rss.stdout


def test_of_one_n_the_quotient_is_marked():
    before, after = ([run for run in planted.counted(sites) if run.sessions == 200] for sites in (planted.SITES, MORE))
    (sentence,) = sentences(compare(before, after))
    assert "(+16 B, exact, a quotient of N = 200, 40 -> 40 blocks)" in sentence
    assert "a quotient, not a slope" in comparison_output.format_comparison(compare(before, after), "markdown")


def test_nothing_but_failures_is_a_sentence(run, tmp_path, new):
    failures = [synthetic.failed(planted.STACK, planted.SUITE, n, "killed by SIGKILL") for n in (20, 200)]
    done = run(planted.write(tmp_path, failures), new)
    assert done.returncode == 1
    assert done.stderr == "compare: nothing to compare: no run of OLD was measured (killed by SIGKILL)\n"


def test_mixed_machines_are_never_compared_silently(run, tmp_path, new):
    other = planted.write(tmp_path, changed_machine(cpu="Another CPU"))
    done = run(other, new)
    assert done.returncode == 1 and done.stdout == ""
    assert "machine is Another CPU, 2 CPUs in OLD and Example CPU, 2 CPUs in NEW" in done.stderr
    assert "--force compares all the same" in done.stderr
    forced = run(other, new, "--force")
    assert forced.returncode == 3
    assert "- Compared by force, although declared settings differ: machine is Another CPU" in forced.stdout


def test_schemas_of_two_versions_are_read_and_what_is_missing_is_said(run, tmp_path, old):
    before = planted.write(tmp_path, planted.counted(schema=1))
    done = run(before, old)
    assert done.returncode == 0
    assert "OLD is of schema 1, the other of 2" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "the following arguments are required"),
        (["OLD"], "--by what the two sides"),
        (["OLD", "NEW", "NEW"], "two recordings are compared, and 3 were named"),
        (["OLD", "--by", "stak", "a", "b"], "did you mean stack?"),
        (["OLD", "--by", "suite", "tls13-rsa-aes256", "tls13-rsa-aes256"], "are the same"),
        (["OLD", "--by", "suite", "tls13-rsa-aes256", "tls13-rsa-aes25"], "did you mean tls13-rsa-aes256?"),
        (["OLD", "NEW", "--suite", "tls13-rsa-aes265"], "did you mean tls13-rsa-aes256?"),
        (["OLD", "NEW", "--phase", "etsablished"], "did you mean established?"),
        (["OLD", "NEW", "--stack", "a=b", "--stack", "a=c"], "--stack names a twice"),
        (["OLD", "NEW", "--stack", "a=c", "--stack", "b=c"], "--stack names c twice"),
        (["OLD", "NEW", "--into", "page.md", "--format", "csv"], "leave --format out"),
        (["OLD", "NEW", "--meter", "memory"], "argument --meter: memory must be heap, "),
    ],
)
def test_usage_is_exit_2_and_a_sentence(run, words, said, old, new):
    done = run(*({"OLD": str(old), "NEW": str(new)}.get(word, word) for word in words))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr


def test_what_cannot_be_read_is_exit_1(run, tmp_path, new):
    (tmp_path / "torn.jsonl").write_text("{")
    for file in (tmp_path / "nowhere", tmp_path / "torn.jsonl"):
        done = run(file, new)
        assert done.returncode == 1 and "Traceback" not in done.stderr and str(file) in done.stderr


def test_into_a_page(run, tmp_path, old, new):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- begin: tools/compare.py {old} {new} -->\n<!-- end -->\n")
    assert run(old, new, "--into", page).returncode == 0
    assert SENTENCE in page.read_text()


def test_as_many_bytes_in_more_blocks_are_a_change():
    found = compare(planted.counted(), planted.counted(planted.with_sites("client", SSL_new=(9_000, 5))))
    assert comparison_output.exit_status(found) == 3
    assert sentences(found) == [
        "More in tls13-rsa-aes256: client session, established, blocks: 40 -> 42 blocks (+2 blocks, exact)",
        "More in tls13-rsa-aes256: client session, established, allocations: 40 -> 42 blocks (+2 blocks, exact)",
    ]
    text = comparison_output.format_comparison(found, "markdown")
    assert "Live heap per session: 10 of 18 changed" in text
    assert "| as much | 2 more |" in text


def test_phases_roles_and_meters_narrow():
    found = compare(
        planted.counted(), planted.counted(MORE), wanted=FigureFilter(("server 1",), ("server",), ("heap",))
    )
    assert [str(row.place) for row in found.rows] == [
        "tls13-rsa-aes256: server session, server 1, heap",
        "tls13-rsa-aes256: server session, server 1, blocks",
    ]
    every = compare(planted.counted(), planted.counted(), wanted=FigureFilter(("all",)))
    assert {row.place.phase for row in every.rows} >= {"client 1", "freed", "peak", "created"}


def test_lines_go_through_the_numbers_of_sessions_of_both():
    before = planted.resident((1.0,), (100, 1000, 5000))
    after = planted.resident((1.0,), (100, 1000))
    found = compare(before, after, wanted=FigureFilter(None, None, ("rss",)))
    assert found.rows and not found.changed
    (row, *_) = found.rows
    assert row.old.values == row.new.values


def test_openssl_3_5_against_3_4_is_explained_to_the_byte():
    """Of a recording in data/."""
    of = [ROOT / f"data/2026-11-22-amd-epyc/{name}.jsonl" for name in ("openssl@3.4.1", "openssl@3.5.5")]
    both = [[one for one in read_records.load(file) if "tls13" in one.suite] for file in of]
    found = compare(*both, wanted=FigureFilter(("established",), ("client", "server"), ("heap",)))
    explained = CallSiteExplainer(found)
    heap = [row for row in found.rows if row.place.meter == "heap"]
    assert {row.place.role for row in heap} == {"client", "server"}
    for row in heap:
        rows = explained.sites(row)
        assert row.change.amount == sum(one.bytes for one in rows) == {"client": 298, "server": 340}[row.place.role]
        assert all(one.is_site for one in rows)


HOSTILE = "evil\x1b[31m|<img src=x>\n# heading"


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_no_name_moves_a_cursor_breaks_a_line_or_is_html(run, tmp_path, form):
    machine = planted.run("heap", 20).machine.model_dump() | {"cpu": HOSTILE}
    suites = {"suite": HOSTILE, "machine": machine}
    before = planted.write(tmp_path / "old", planted.counted(), planted.counted(**suites))
    after = planted.write(tmp_path / "new", planted.counted(MORE), planted.counted(MORE, **suites))
    done = run(before, after, "--format", form)
    assert done.returncode == 3 and "evil" in done.stdout
    assert "\x1b" not in done.stdout and "\n# heading" not in done.stdout
    assert form != "markdown" or "<img" not in done.stdout


def test_no_sentence_on_stderr_moves_a_cursor(run, tmp_path, new):
    failures = [synthetic.failed(planted.STACK, planted.SUITE, n, "killed by \x1b[31mSIGKILL") for n in (20, 200)]
    done = run(planted.write(tmp_path, failures), new)
    assert done.returncode == 1 and "killed by ?[31mSIGKILL" in done.stderr


def test_a_recording_whose_name_is_no_text_is_compared(tmp_path, new):
    before = planted.write(tmp_path / os.fsdecode(b"na\xffme"), planted.counted())
    words = [sys.executable, str(ROOT / "tools/compare.py"), before, new]
    done = subprocess.run(
        words, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    )
    assert done.returncode == 3 and b"na?me, NEW is" in done.stdout


def test_what_is_not_known_is_not_counted_as_no_change():
    before, after = ([run for run in planted.counted() if run.sessions == n] for n in (20, 200))
    found = compare(before, after)
    assert largest_changes.headline(found).endswith(f": no change in 0 figures; of {len(found.rows)} it is not known.")


def test_a_phase_is_named_as_pages_name_it(run, old, new):
    done = run(old, new, "--phase", "after 1 KiB each way", "--meter", "heap", "--format", "json")
    tables = {one["name"]: one for one in json.loads(done.stdout)["tables"]}
    assert {row["phase"] for row in tables["heap"]["rows"]} == {"after 1 KiB each way"}


def test_a_meter_of_neither_side_is_said_to_be_so(run, old, new):
    done = run(old, new, "--meter", "handshakes")
    assert done.returncode == 1 and "neither side has a figure of this --role, --meter and --phase" in done.stderr


def test_a_program_is_told_the_interval_of_a_factor(run, tmp_path):
    sides = [
        synthetic_timed.campaign(
            [planted.STACK], [planted.SUITE], factors=[slower * one for one in synthetic_timed.FACTORS]
        )
        for slower in (1.0, 2.0)
    ]
    done = run(*(synthetic.write(tmp_path / str(at), one) for at, one in enumerate(sides)), "--format", "json")
    tables = {one["name"]: one for one in json.loads(done.stdout)["tables"]}
    for row in tables["time"]["rows"]:
        assert row["difference"]["low"] <= 1 + row["difference"]["share"] <= row["difference"]["high"]
