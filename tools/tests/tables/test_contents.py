"""A recording with runs of memory and of time: each table of the runs that are its own."""

import json
import sys

import pytest

from tests.support import forked_command, synthetic, synthetic_timed
from tlsmem.base.paths import ROOT
from tlsmem.stats.selection import select_campaign
from tlsmem.tables import recording_contents

OPENSSL, RUSTLS = "openssl@3.5.5", "rustls+aws-lc@0.23.46"
SUITE, RESUMED = "tls13-rsa-aes256", "tls13-rsa-aes256-id"
NOTHING = dict.fromkeys(("stacks", "suites", "allocators", "windows", "roles", "peers", "envs", "cpus"))


@pytest.fixture
def recording(tmp_path):
    runs = synthetic.campaign([OPENSSL, RUSTLS], [SUITE])
    runs += synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE, RESUMED])
    runs += synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE], "throughput")
    return synthetic.write(tmp_path / "2026-01-31-example", runs)


def tabulate(recording, *arguments):
    command = [sys.executable, str(ROOT / "tools/tls-memtest"), "show", "tables", str(recording), *arguments]
    return forked_command.run(command)


def names(result) -> list[str]:
    assert result.returncode == 0, result.stderr
    return [table["name"] for table in json.loads(result.stdout)["tables"]]


@pytest.mark.thorough
def test_without_a_name_both_kinds_have_their_tables_each_name_once(recording):
    found = names(tabulate(recording, "--format", "json"))
    assert len(found) == len(set(found))
    assert {"settings", "peaks", "heap", "transfer", "handshakes", "sessions", "latency", "noise"} <= set(found)


def test_tables_of_both_kinds_may_be_asked_for_at_once(recording):
    assert names(tabulate(recording, "--format", "json", "--table", "transfer", "--table", "c10k")) == [
        "c10k",
        "transfer",
    ]


def test_what_only_one_kind_has_may_be_asked_for(recording):
    found = names(tabulate(recording, "--format", "json", "--suite", RESUMED))
    assert "handshakes" in found and "peaks" not in found and "settings" in found
    assert names(tabulate(recording, "--suite", RESUMED, "--table", "settings", "--format", "json")) == ["settings"]


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "table"])
def test_every_form_has_the_rates(recording, form):
    result = tabulate(recording, "--table", "factor", "--stack", RUSTLS, "--stack", OPENSSL, "--format", form)
    assert result.returncode == 0, result.stderr
    assert result.stdout.index(RUSTLS) < result.stdout.index(OPENSSL)
    assert "0.8" in result.stdout and ("5,000" in result.stdout or "5000" in result.stdout)


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (
            ["--suite", "tls14"],
            2,
            "the recording has no runs of the suite tls14; it has: tls13-rsa-aes256, tls13-rsa-aes256-id",
        ),
        (["--suite", RESUMED, "--table", "peaks"], 1, "table peaks has no rows: it needs RSS runs"),
        (["--table", "threads"], 1, "table threads has no rows: it needs timed runs with several numbers of threads"),
        (["--campaign", "thruput"], 2, "memtest/campaigns.toml has no campaign thruput"),
        (["--suite", RESUMED, "--n", "100"], 1, "no RSS runs with N = 100; the recording has N = none"),
    ],
)
def test_what_is_not_there_is_one_sentence(recording, arguments, status, sentence):
    result = tabulate(recording, *arguments)
    assert result.returncode == status
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_recording_of_memory_alone_says_what_a_table_of_time_needs(snapshot):
    found = recording_contents.select(synthetic.campaign([OPENSSL], [SUITE]), NOTHING)
    with pytest.raises(ValueError, match=r"transfer .* throughput") as error:
        found.tables(["transfer"], None)
    assert str(error.value) == snapshot
    assert found.timed is None


def test_a_recording_of_time_alone_has_the_settings_too():
    found = recording_contents.select(synthetic_timed.campaign([OPENSSL], [SUITE], "throughput"), NOTHING)
    assert found.memory is None
    assert found.tables(None, None)[0].name == "settings"
    assert [table.name for table in found.tables(["settings"], None)] == ["settings"]


def test_left_out_is_said_of_both_kinds():
    old = {"binary_sha256": "1" * 64, "started_at": "2026-01-30T12:00:00Z"}
    runs = synthetic.campaign([OPENSSL], [SUITE]) + synthetic_timed.campaign([OPENSSL], [SUITE])
    runs += [synthetic.record(OPENSSL, SUITE, 20_000, **old), synthetic_timed.record(OPENSSL, SUITE, repeat=9, **old)]
    assert recording_contents.select(runs, NOTHING).left_out == [f"1 run of another build of {OPENSSL} is left out"] * 2


def test_a_timed_campaign_has_all_its_repeats_in_its_order_of_stacks():
    runs = synthetic_timed.campaign([RUSTLS, OPENSSL], [SUITE], "throughput", factors=(1.0,) * 7)
    others = synthetic_timed.campaign(["openssl@3.4.1"], [SUITE], "throughput")
    others += synthetic_timed.campaign([RUSTLS], [SUITE])
    assert select_campaign([*runs, *others], "throughput") == runs[1::2] + runs[::2]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"stack": "openssl@3.4.1"}, "of the stacks it asks for openssl@3.5.5, boringssl@5.4.0, rustls+aws-lc@0.23.46; "
         "there are openssl@3.4.1, shown without --campaign"),
        ({"size": 16}, "of writes, in bytes, it asks for 1048576; there are 16, shown"),
        ({"threads": 2}, "of threads it asks for 1; there are 2, shown"),
        ({"scenario": "handshake"}, "no run of the scenario throughput is there"),
    ],
)  # fmt: skip
def test_a_campaign_of_which_nothing_is_there_says_what_is(changes, said):
    run = synthetic_timed.record(**({"stack": OPENSSL, "suite": SUITE, "scenario": "throughput"} | changes))
    with pytest.raises(ValueError, match="no run of this campaign") as refused:
        select_campaign([run], "throughput")
    assert said in str(refused.value)
