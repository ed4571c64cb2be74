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

from tests.support import in_process, planted, synthetic, synthetic_timed
from tests.support.portable_text import drop_table_rows
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.compare import change_text, comparison_output, largest_changes
from tlsmem.compare.comparison import Comparison, FigureFilter, compare
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.schema.records import RecordLine
from tlsmem.store import read_runs

HELLO = "tls_construct_server_hello"
MORE = planted.with_sites("server", **{HELLO: (4_132, 20)})


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys) -> Callable[..., Done]:
    """As the command does it, in this process."""

    def made(*words: str | Path) -> Done:
        asked = ["diff", "recordings", *map(str, words)]
        status = in_process.exit_status(lambda: run_words(asked))
        return Done(status, *capsys.readouterr())

    return made


def scripted(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/tls-memtest"), "diff", "recordings", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_the_command_ends_with_3_where_something_changed(old, new):
    done = scripted(old, new)
    assert (done.returncode, done.stderr) == (3, "")


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    return planted.write(
        tmp_path_factory.mktemp("recordings") / "old", planted.counted(), planted.resident((1.0, 1.001, 1.002))
    )


@pytest.fixture(scope="module")
def new(tmp_path_factory) -> Path:
    """16 B more of a server session, in one place; RSS as before."""
    return planted.write(
        tmp_path_factory.mktemp("recordings") / "new", planted.counted(MORE), planted.resident((1.001, 1.0, 1.002))
    )


def sentences(found: Comparison) -> list[str]:
    explained = CallSiteExplainer(found)
    return [change_text.describe_large_change(one, explained) for one in largest_changes.select_largest(found)]


def read_tables(run: Callable[..., Done], *words: str | Path) -> dict[str, list[dict]]:
    """The rows of each table, as a program gets them."""
    done = run(*words, "--format", "json")
    return {one["name"]: one["rows"] for one in json.loads(done.stdout)["tables"]}


def changed_machine(**machine) -> list[RecordLine]:
    known = planted.run("heap", 20).machine.model_dump()
    return planted.counted(machine=known | machine)


def test_sixteen_bytes_are_found_by_name(run, old, new, snapshot):
    done = run(old, new)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == snapshot
    (summary,) = read_tables(run, old, new)["summary"]
    assert (summary["changed"], summary["worse"], summary["status"]) == (10, 10, 3)


def test_what_did_not_change_is_no_change(run, old, snapshot):
    done = run(old, old)
    assert done.returncode == 0
    assert done.stdout == snapshot
    (summary,) = read_tables(run, old, old)["summary"]
    assert (summary["changed"], summary["not_known"], summary["status"]) == (0, 0, 0)


def test_the_way_back_is_less(run, old, new, snapshot):
    done = run(new, old)
    assert done.returncode == 3
    assert drop_table_rows(done.stdout) == snapshot
    tables = read_tables(run, new, old)
    assert (tables["summary"][0]["changed"], tables["summary"][0]["worse"]) == (10, 0)
    assert tables["movers"][0]["difference"]["amount"] == -16


def test_tables_have_both_figures_and_the_difference(run, old, new):
    tables = read_tables(run, old, new, "--meter", "heap")
    (row,) = [one for one in tables["heap"] if (one["role"], one["phase"]) == ("server", "idle")]
    assert (row["old"], row["new"]) == (14_116, 14_132)
    assert row["difference"] == {"amount": 16, "share": round(16 / 14_116, 6), "verdict": "changed"}
    assert row["blocks"] == {"old": 40, "new": 40, "verdict": "no change"}
    assert tables["summary"][0]["status"] == 3
    sites = tables["sites"]
    assert [one["more_bytes"] for one in sites] == [16, 16]  # the site, and in all
    mover = tables["movers"][0]
    assert (mover["suite"], mover["role"], mover["phase"]) == (planted.SUITE, "server", "created")
    assert f"{HELLO} (ssl.c:13)" in mover["sentence"]


def test_csv_has_the_values(run, old, new):
    text = run(old, new, "--format", "csv", "--meter", "heap").stdout
    heap = text.split("# heap\n")[1].split("\n\n")[0]
    rows = list(csv.DictReader(io.StringIO(heap)))
    assert {row["difference_verdict"] for row in rows} == {"changed", "no change"}


def test_markdown_folds_what_is_long_and_nothing_else(run, old, new):
    text = run(old, new, "--format", "markdown").stdout
    assert "</summary>\n\n**Live heap" in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert text.index("- More in") < text.index("<details>")
    sites = text[text.index("**Call sites**") :]
    assert "<details>" not in sites


def test_a_terminal_folds_nothing(run, old, new):
    text = run(old, new, "--format", "table").stdout
    assert "<details>" not in text and "**" not in text
    assert "Largest changes:" in text


def test_rss_within_the_spread_of_repeats_is_no_change_and_beyond_it_a_change(snapshot):
    before = planted.resident((1.0, 1.01, 0.99))
    assert compare(before, planted.resident((1.005, 1.0, 0.995))).changed == []
    found = compare(before, planted.resident((1.05, 1.06, 1.04)))
    assert len(found.changed) == len(found.rows) > 6
    assert sentences(found) == snapshot


def test_counts_that_repeat_on_one_side_only_are_not_called_measured_once(snapshot):
    again = [
        one.model_copy(update={"repeat": 2})
        for one in planted.counted(planted.with_sites("server", SSL_new=(10_001, 20)))
    ]
    found = compare([*planted.counted(), *again], planted.counted(MORE))
    assert sentences(found) == snapshot


@pytest.mark.thorough
def test_slower_is_said_in_words_and_by_an_interval(snapshot):
    of = [planted.STACK], [planted.SUITE]
    before, after = (
        synthetic_timed.campaign(*of, factors=[by * one for one in synthetic_timed.FACTORS]) for by in (1.0, 1.25)
    )
    found = compare(before, after)
    assert sentences(found) == snapshot
    assert all(row.change.better is False for row in found.rows)
    assert all((row.change.low, row.change.high) == pytest.approx((0.8, 0.8)) for row in found.rows)


def test_the_same_of_two_suites_is_said_once(snapshot):
    before, after = (
        [run for suite in ("tls13-rsa-aes256", "tls12-rsa-aes256") for run in planted.counted(sites, suite=suite)]
        for sites in (planted.SITES, MORE)
    )
    found = compare(before, after)
    assert sentences(found) == snapshot
    (change,) = largest_changes.select_largest(found)
    assert [row.match.suite for row in change.also] == ["tls12-rsa-aes256"]


APART = {  # what NEW's runs have; and what of it is named, with OLD's value and NEW's where they are known
    "machine": ({"machine": {"cpu": "Another CPU"}}, ("machine", "Example CPU, 2 CPUs", "Another CPU, 2 CPUs")),
    "kernel": ({"machine": {"kernel": "7.0"}}, ("kernel", "6.1.0", "7.0")),
    "compiler": ({"compiler": "gcc 13.1.0"}, ("compiler", "gcc 12.2.0", "gcc 13.1.0")),
    "flags": ({"flags": "-O0"}, ("flags", "-O3", "-O0")),
    "allocator": (
        {"allocator": {"name": "system", "version": "glibc 2.40", "settings": None, "library": None}},
        ("allocator", "system glibc 2.36", "system glibc 2.40"),
    ),
    "settings": (
        {"allocator": {"name": "system", "version": "glibc 2.36", "settings": "a=1", "library": None}},
        ("allocator", "system glibc 2.36", "system (a=1) glibc 2.36"),
    ),
    "window": ({"window": 10}, ("window", "all", "10")),
    "env": (
        {"env": "deployed"},
        ("environment", *(f"{name} (randomisation off, huge pages off)" for name in ("lab", "deployed"))),
    ),
    "cpu": (
        {"cpu_features": {"name": "no-aes", "variables": {"A": "1"}}},
        ("CPU features", "all", "no-aes (A=1)"),
    ),
}
WORDS = {
    "certs": "certs=memtest/certs/ecdsa-p256",
    "tickets": "tickets=2",
    "store": "store=on",
    "options": "options=low-memory",
    "auth": "auth=mutual",
}
APART |= {
    name: ({"argv": ["build/harness/x", "memory", "certs=memtest/certs/rsa-2048", word]}, (name,))
    for name, word in WORDS.items()
}


@pytest.mark.parametrize("name", APART)
def test_runs_whose_settings_differ_are_not_compared_unless_told(name: str, snapshot):
    changes, known = APART[name]
    machine = planted.run("heap", 20).machine.model_dump()
    changes = changes | ({"machine": machine | changes["machine"]} if "machine" in changes else {})
    after = planted.counted(**changes)
    refused = compare(planted.counted(), after)
    assert refused.rows == () and comparison_output.exit_status(refused) == 1
    apart = refused.refused[0].apart
    assert [one.describe(("OLD", "NEW")) for one in apart] == snapshot
    assert known in [one[: len(known)] for one in apart]
    forced = compare(planted.counted(), after, force=True)
    assert forced.rows and forced.forced == apart


def test_what_by_names_may_differ_and_nothing_else():
    before, after = planted.counted(), planted.counted(stack="boringssl@5.4.0", compiler="clang 14", flags="-O2")
    assert compare(before, after, by=["stack"]).rows
    after = [one.model_copy(update={"machine": one.machine.model_copy(update={"kernel": "7"})}) for one in after]
    assert not compare(before, after, by=["stack"]).rows


def test_mixed_machines_inside_one_side_are_told(run, tmp_path, snapshot):
    others = [run.model_copy(update={"started_at": "2026-01-30T12:00:00Z"}) for run in changed_machine(kernel="5.0")]
    mixed = planted.write(tmp_path / "other", planted.counted(), others)
    done = run(mixed, mixed)
    assert done.returncode == 0
    assert drop_table_rows(done.stdout) == snapshot


def test_one_stack_on_each_side_is_one_pair_whatever_they_are_called():
    found = compare(planted.counted(), planted.counted(MORE, stack="openssl@git-3f2a1b9c04de"))
    assert {row.match.stack for row in found.rows} == {"openssl@3.5.5 -> openssl@git-3f2a1b9c04de"}
    assert found.rows[0].place.suite == planted.SUITE


def test_stacks_of_two_names_are_paired_by_name(run, tmp_path, snapshot):
    others = planted.counted(stack="boringssl@5.4.0")
    before = planted.write(tmp_path / "old", planted.counted(), others)
    after = planted.write(tmp_path / "new", planted.counted(MORE, stack="openssl@3.6.3"), others)
    done = run(before, after, "--stack", "openssl@3.5.5=openssl@3.6.3")
    assert done.returncode == 3 and "boringssl" not in done.stdout
    alone = run(before, after)
    assert alone.returncode == 0
    assert drop_table_rows(alone.stdout) == snapshot


def test_two_selections_of_one_recording(run, tmp_path, snapshot):
    kind = {"allocator": {"name": "jemalloc", "version": "5.3.0", "settings": None, "library": "libjemalloc.so"}}
    both = planted.write(tmp_path / "other", planted.resident((1.0,)), planted.resident((1.5,), **kind))
    done = run(both, "--by", "allocator", "system", "jemalloc")
    assert done.returncode == 3
    assert drop_table_rows(done.stdout) == snapshot(name="allocators")
    assert run(both, "--by", "allocator", "jemalloc", "jemallo").returncode == 2
    two = planted.write(tmp_path / "two", planted.counted(), planted.counted(MORE, suite="tls12-rsa-aes256"))
    by_suite = run(two, "--by", "suite", "tls13-rsa-aes256", "tls12-rsa-aes256")
    assert by_suite.returncode == 3
    assert drop_table_rows(by_suite.stdout) == snapshot(name="suites")


def test_compilers_are_told_apart_by_name(run, tmp_path):
    clang = planted.counted(MORE, stack="openssl+clang@3.5.5", compiler="clang 14.0.6")
    both = planted.write(tmp_path / "other", planted.counted(), clang)
    words = (both, "--by", "compiler", "gcc", "clang")
    assert run(*words).returncode == 3
    mover = read_tables(run, *words)["movers"][0]
    assert (mover["role"], mover["difference"]["amount"]) == ("server", 16)


def test_what_one_side_has_alone_is_listed_with_why(run, tmp_path, new, snapshot):
    unsupported = [
        synthetic.failed(planted.STACK, "tls13-rsa-aes256-pq", n, "no such group", "unsupported", meter)
        for n, meter in ((20, "heap"), (200, "heap"))
    ]
    more = [run for run in planted.counted(suite="tls13-rsa-aes256-pq") if run.meter == "heap"]
    before = planted.write(tmp_path / "old", planted.counted(), unsupported)
    after = planted.write(tmp_path / "new", planted.counted(), more)
    done = run(before, after)
    assert done.returncode == 0
    reasons = [row["sentence"] for side in (after, new) for row in read_tables(run, before, side)["alone"]]
    assert reasons == snapshot
    assert ["unsupported" in one for one in reasons].count(True) == 1


def test_of_one_n_the_quotient_is_marked(snapshot):
    before, after = ([run for run in planted.counted(sites) if run.sessions == 200] for sites in (planted.SITES, MORE))
    assert drop_table_rows(comparison_output.format_comparison(compare(before, after), "markdown")) == snapshot


def test_roles_together_and_apart_are_said_with_the_option_that_compares_them(run, tmp_path, snapshot):
    """NEW has two settings, so that neither is the one that OLD's is near to."""
    split = [synthetic.record(planted.STACK, planted.SUITE, n, "heap", roles="split") for n in planted.COUNTS]
    kept = [synthetic.record(planted.STACK, planted.SUITE, n, "heap", roles="keep-server") for n in planted.COUNTS]
    before = planted.write(tmp_path / "old", planted.counted())
    after = planted.write(tmp_path / "new", split, kept)
    done = run(before, after)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == snapshot
    by = run(before, after, "--by", "roles", "together", "split")
    assert by.returncode == 3 and read_tables(run, before, after, "--by", "roles", "together", "split")["heap"]


def test_nothing_but_failures_is_a_sentence(run, tmp_path, new, snapshot):
    failures = [synthetic.failed(planted.STACK, planted.SUITE, n, "killed by SIGKILL") for n in (20, 200)]
    done = run(planted.write(tmp_path / "other", failures), new)
    assert done.returncode == 1
    assert done.stderr == snapshot


def test_mixed_machines_are_never_compared_silently(run, tmp_path, new, snapshot):
    other = planted.write(tmp_path / "other", changed_machine(cpu="Another CPU"))
    done = run(other, new)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == snapshot(name="refused")
    forced = run(other, new, "--force")
    assert forced.returncode == 3
    assert drop_table_rows(forced.stdout) == snapshot(name="forced")


def test_schemas_of_two_versions_are_read_and_what_is_missing_is_said(run, tmp_path, old, snapshot):
    before = planted.write(tmp_path / "other", planted.counted(schema=1))
    done = run(before, old)
    assert done.returncode == 0
    assert [row["sentence"] for row in read_tables(run, before, old)["notes"]] == snapshot


@pytest.mark.parametrize(
    "words",
    [
        "",
        "OLD",
        "OLD NEW NEW",
        "OLD --by stak a b",
        "OLD --by suite tls13-rsa-aes256 tls13-rsa-aes256",
        "OLD --by suite tls13-rsa-aes256 tls13-rsa-aes25",
        "OLD NEW --suite tls13-rsa-aes265",
        "OLD NEW --phase etsablished",
        "OLD NEW --stack a=b --stack a=c",
        "OLD NEW --stack a=c --stack b=c",
        "OLD NEW --into page.md --format csv",
        "OLD NEW --meter memory",
    ],
)
def test_usage_is_exit_2_and_a_sentence(run, words, old, new, snapshot):
    done = run(*({"OLD": str(old), "NEW": str(new)}.get(word, word) for word in words.split()))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == snapshot
    assert done.stderr.count("\n") == 1


def test_a_suite_in_words_is_each_of_its_variants_that_both_have(run, tmp_path):
    suite, variant = f"{planted.SUITE}-pq", f"{planted.SUITE}-pq+low-memory"
    alone = planted.write(tmp_path / "alone", planted.counted(suite=variant), planted.counted(suite=planted.SUITE))
    more = planted.write(tmp_path / "more", planted.counted(MORE, suite=variant), planted.counted(suite=suite))
    found = read_tables(run, alone, more, "--pq")
    assert {row["suite"] for row in found["movers"]} == {variant}
    assert run(alone, more, "--suite", suite).returncode == 2  # a name is one suite
    done = run(alone, more, "--mtls")
    assert done.returncode == 2 and f"no runs of the suite {planted.SUITE}-mutual" in done.stderr


def test_what_cannot_be_read_is_a_sentence(run, tmp_path, new):
    (tmp_path / "torn.jsonl").write_text("{")
    for file in (tmp_path / "nowhere", tmp_path / "torn.jsonl"):
        done = run(file, new)
        assert done.returncode == 2 and "Traceback" not in done.stderr and str(file) in done.stderr


def test_into_a_page(run, tmp_path, old, new):
    page = tmp_path / "page.md"
    page.write_text(f"<!-- begin: tools/tls-memtest diff recordings {old} {new} -->\n<!-- end -->\n")
    assert run(old, new, "--into", page).returncode == 0
    assert run(old, new, "--format", "markdown").stdout.strip() in page.read_text()


def test_as_many_bytes_in_more_blocks_are_a_change(snapshot):
    found = compare(planted.counted(), planted.counted(planted.with_sites("client", SSL_new=(9_000, 5))))
    assert comparison_output.exit_status(found) == 3
    assert {(row.place.meter, row.change.amount) for row in found.changed} == {("blocks", 2), ("allocations", 2)}
    assert comparison_output.format_comparison(found, "markdown") == snapshot


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


@pytest.mark.thorough
def test_openssl_3_5_against_3_4_is_explained_to_the_byte():
    """Of a recording in data/."""
    of = [ROOT / f"data/2026-11-22-amd-epyc/{name}.jsonl" for name in ("openssl@3.4.1", "openssl@3.5.5")]
    both = [[one for one in read_runs.load(file) if "tls13" in one.suite] for file in of]
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
    done = run(planted.write(tmp_path / "other", failures), new)
    assert done.returncode == 1 and "killed by ?[31mSIGKILL" in done.stderr


@pytest.mark.thorough
def test_a_recording_whose_name_is_no_text_is_compared(tmp_path, new):
    before = planted.write(tmp_path / os.fsdecode(b"na\xffme"), planted.counted())
    words = [sys.executable, str(ROOT / "tools/tls-memtest"), "diff", "recordings", before, new]
    done = subprocess.run(
        words, capture_output=True, check=False, env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"}
    )
    assert done.returncode == 3 and b"na?me -> " in done.stdout


def test_what_is_not_known_is_not_counted_as_no_change(snapshot):
    before, after = ([run for run in planted.counted() if run.sessions == n] for n in (20, 200))
    found = compare(before, after)
    assert len(found.unknown) == len(found.rows)
    assert change_text.summarize_comparison(found) == snapshot


def test_a_phase_is_named_as_pages_name_it(run, old, new):
    tables = read_tables(run, old, new, "--phase", "after 1 KiB each way", "--meter", "heap")
    assert {row["phase"] for row in tables["heap"]} == {"after 1 KiB each way"}


def test_a_meter_of_neither_side_is_said_to_be_so(run, old, new, snapshot):
    done = run(old, new, "--meter", "handshakes")
    assert done.returncode == 1
    assert done.stderr == snapshot


def test_a_program_is_told_the_interval_of_a_factor(run, tmp_path):
    sides = [
        synthetic_timed.campaign(
            [planted.STACK], [planted.SUITE], factors=[slower * one for one in synthetic_timed.FACTORS]
        )
        for slower in (1.0, 2.0)
    ]
    recordings = (synthetic.write(tmp_path / str(at), one) for at, one in enumerate(sides))
    for row in read_tables(run, *recordings)["time"]:
        assert row["difference"]["low"] <= 1 + row["difference"]["share"] <= row["difference"]["high"]
