"""tools/tls-memtest cost: the three costs of a stack, what is missing, and what it refuses."""

import json
import re
from pathlib import Path

import pytest
from matplotlib import pyplot, rc_context

from tests.support import in_process, planted, synthetic
from tests.support.colour_vision import find_alike
from tests.support.in_use import BORING, OPENSSL, RUSTLS, SUITE, record_peaks, recorded
from tests.support.pictured import overlaps
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.config.stack_names import newest_releases
from tlsmem.cost import cost_picture, find_costs
from tlsmem.cost.screen import describe_sum
from tlsmem.plots.picture import STYLE
from tlsmem.schema import recording_files
from tlsmem.stats import recorded_stacks
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings


@pytest.fixture
def recording(tmp_path):
    """OpenSSL with its defaults and with low memory, rustls with its defaults, BoringSSL at rest only."""
    runs = recorded(OPENSSL, "+tickets-library", 1_000) + recorded(OPENSSL, "+low-memory+tickets-library", -30_000)
    runs += recorded(RUSTLS, "+tickets-library")
    runs = [run.model_copy(update={"window": 100}) for run in runs]
    return synthetic.write(tmp_path / "recording", [*runs, *synthetic.campaign([BORING], [SUITE], roles="split")])


def run(monkeypatch, recording, *words) -> int:
    """The exit status."""
    recordings.load_stack.cache_clear()
    return in_process.exit_status(lambda: run_words(["cost", *words, "--recording", str(recording)]))


def printed(capsys, monkeypatch, recording, *words) -> str:
    assert run(monkeypatch, recording, *words) == 0
    return capsys.readouterr().out


def refused(capsys, monkeypatch, recording, *words) -> str:
    assert run(monkeypatch, recording, *words) in (1, 2)
    return capsys.readouterr().err.removesuffix("\n")


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("openssl@3.0.19", "did you mean openssl@3.0.22, openssl@system or openssl@4.0.3"),
        ("openssl@9.9.9", "did you mean openssl@system or openssl@4.0.3"),
        ("rustls@0.23.1", "did you mean rustls"),
    ],
)
def test_of_a_release_that_is_not_recorded_those_of_its_series_are_named(monkeypatch, name, there):
    names = ["rustls+aws-lc@0.23.46", "openssl@3.0.22", "openssl@4.0.3", "openssl@system", "openssl@3.5.5"]
    monkeypatch.setattr(recordings, "stacks", lambda _: names)
    with pytest.raises(ValueError, match=f"no recording has the stack {name}; {there}"):
        recorded_stacks.resolve_stack(name, [ROOT])


def test_a_line_that_was_cut_off_is_told_by_the_exit_status(monkeypatch, recording):
    monkeypatch.setattr(recording_files, "skipped_lines", [])
    file = recording / f"{RUSTLS}.jsonl"
    file.write_bytes(file.read_bytes()[:-100])
    assert run(monkeypatch, recording, OPENSSL, RUSTLS) == 1


def test_the_three_costs_of_a_session_are_those_recorded(recording):
    found = find_costs.find_costs(OPENSSL, SUITE, [recording])
    server = found.roles["server"]
    assert server.live("default", "blocked").bytes.integer_part == 53_000
    assert server.live("low memory", "blocked").bytes.integer_part == 22_000
    assert server.rss("default", "blocked").slope > 0 and found.window == 100


def test_a_screen_fits_80_columns_and_ends_with_what_to_ask_next(recording, capsys, monkeypatch, snapshot):
    screen = re.sub(r"(?m)^Recorded .*$", "Recorded", printed(capsys, monkeypatch, recording, OPENSSL))
    assert screen.count(f" --recording {recording}\n") == 1
    screen = screen.replace(f" --recording {recording}", "")  # a command stays whole
    assert max(map(len, screen.splitlines())) <= 80
    assert "53,000 B" in screen and "22,000 B" in screen and "SSL_MODE_RELEASE_BUFFERS" in screen
    assert screen == snapshot


def test_without_a_stack_every_library_has_a_bar_as_long_as_it_holds(recording, capsys, monkeypatch):
    lines = printed(capsys, monkeypatch, recording).splitlines()
    bars = [len(line.strip()) for line in lines if "█" in line]
    assert bars == [9, 74]  # 6,400 B and 53,000 B
    assert "Not recorded in use: BoringSSL 5.4.0" in lines


def test_what_is_not_recorded_is_said_with_the_command_that_records_it(recording, capsys, monkeypatch):
    screen = printed(capsys, monkeypatch, recording, BORING)
    assert "Not recorded in this suite as servers run it" in screen
    assert f"  tools/tls-memtest measure deployed-config --stacks {BORING} --suites {SUITE}\n" in screen


def test_what_is_recorded_in_another_state_is_shown_with_the_state_and_the_recording(recording, capsys, monkeypatch):
    screen = printed(capsys, monkeypatch, recording, BORING)
    _, at_rest = screen.split("At rest, all handshakes concurrent, a process per role, no tickets:\n")
    assert re.findall(r"(?m)^  (\w+ \w+ at rest)", screen) == ["Live heap at rest"] and "RSS at rest" in at_rest
    assert f"{recording}, campaign stacks" in at_rest and "in use  " not in at_rest


MLDSA = "tls13-mldsa65-aes256"


@pytest.mark.parametrize("suite", ["tls12-rsa-aes256", MLDSA, f"{SUITE}-mutual"])
def test_a_named_suite_is_never_answered_with_the_figures_of_another(recording, capsys, monkeypatch, suite):
    screen = printed(capsys, monkeypatch, recording, OPENSSL, "--suite", suite)
    assert "53,000" not in screen and "RSS in use" not in screen
    assert f"  tools/tls-memtest measure deployed-config --stacks {OPENSSL} --suites {suite}\n" in screen
    rows = json.loads(printed(capsys, monkeypatch, recording, OPENSSL, "--suite", suite, "--format", "json"))
    for row in rows["tables"][0]["rows"]:
        assert row["suite"] == suite and f"--suites {suite}" in row["rss_in_use_bytes"]["hole"]
    bars = printed(capsys, monkeypatch, recording, "--suite", suite)
    assert "█" not in bars and "rustls" in bars[bars.index("Not recorded in use in this suite:") :]
    picture = refused(capsys, monkeypatch, recording, "--suite", suite, "-o", str(recording.parent / "picture"))
    assert (
        picture == f"memtest: no server session in use is recorded in {suite}; to record it: "
        f"tools/tls-memtest measure deployed-config --stacks {OPENSSL},{BORING},{RUSTLS} --suites {suite}"
    )
    page = printed(capsys, monkeypatch, recording, "openssl", "--suite", suite, "--page")
    assert "not recorded in use" in page and "53,000" not in page


def test_the_recorded_ml_dsa_has_the_figures_of_its_own_recording(capsys, monkeypatch):
    run_words(["cost", OPENSSL, "--suite", MLDSA, "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    kinds = [
        (role, MLDSA, configuration) for role in ("server", "client") for configuration in ("default", "low memory")
    ]
    assert [(row["role"], row["suite"], row["configuration"]) for row in rows] == kinds
    assert [round(row["rss_in_use_bytes"]) for row in rows] == [54_659, 21_309, 93_339, 60_038]
    assert {row["recording"] for row in rows} == {"data/2026-11-26-amd-epyc-p355e"}
    assert {row["state"] for row in rows} == {"in use, 100 handshakes at a time, a process per role"}


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (["openssl@3.5.5"], ""),
        (["openssl@3.5.5", "--suite", SUITE], ""),
        (["openssl@3.5.5", "--suite", "tls12-rsa-aes256"], " --suite tls12-rsa-aes256"),
        (["go@1.27.4"], " --suite tls13-rsa-aes128"),
        (["openssl@3.5.5", "--role", "client"], " --role client"),
    ],
)
def test_the_plan_that_a_screen_ends_with_is_of_its_own_suite(capsys, monkeypatch, words, end):
    run_words(["cost", *words])
    assert f"  tools/tls-memtest plan memory --connections 100000 --stack {words[0]}{end}\n" in capsys.readouterr().out


def test_a_library_of_another_suite_is_shown_with_all_that_differs(capsys, monkeypatch):
    run_words(["cost", "go@1.27.4"])
    shown = capsys.readouterr().out
    assert "BearSSL 0.6, TLS 1.2, AES-256-GCM " in shown and "OpenSSL 4.0.3, AES-256-GCM " in shown


@pytest.mark.thorough
def test_a_picture_of_two_builds_of_a_library_names_the_build_in_its_title():
    among = recordings.find_recordings(None)
    groups = cost_picture.find_groups(["wolfssl@5.9.4", "wolfssl+server@5.9.4"], SUITE, "server", among)
    title = cost_picture.describe_range(groups, "server")
    assert title.endswith("in wolfSSL 5.9.4 (server)") and "in wolfSSL 5.9.4 (default build)," in title


def test_a_variant_of_a_suite_is_refused_with_the_suite_itself(recording, capsys, monkeypatch):
    assert refused(capsys, monkeypatch, recording, OPENSSL, "--suite", f"{SUITE}+low-memory") == (
        f"memtest: --suite: name the suite itself, {SUITE}; its library options are shown beside its defaults"
    )


def test_the_parts_of_a_session_that_no_campaign_can_record_say_why(capsys, monkeypatch):
    run_words(["cost", "go@1.27.4", "--explain"])
    screen = " ".join(capsys.readouterr().out.split())
    assert "in-use-sites" not in screen and "go@1.27.4 brings its own allocator" in screen
    assert screen.count("The same holds for the call stacks at its peak.") == 2  # of both roles


def test_what_is_recorded_has_a_row_for_each_suite_of_a_stack(recording, capsys, monkeypatch):
    words = ("--recorded", "--format", "json")
    (table,) = json.loads(printed(capsys, monkeypatch, recording, *words))["tables"]
    shown = [(row["stack"], row["suite"], row["as_deployed"], row["at_rest"]) for row in table["rows"]]
    assert shown == [
        (OPENSSL, SUITE, "live heap, RSS", ""),
        (BORING, SUITE, "", "live heap, RSS"),
        (RUSTLS, SUITE, "live heap, RSS", ""),
    ]
    (table,) = json.loads(printed(capsys, monkeypatch, recording, OPENSSL, "--suite", MLDSA, *words))["tables"]
    command = f"tools/tls-memtest measure deployed-config --stacks {OPENSSL} --suites {MLDSA}"
    assert table["rows"] == [] and table["without"] == [f"{OPENSSL}: not recorded in {MLDSA}; to record it: {command}"]


def test_files_have_a_row_for_each_role_and_configuration(recording, capsys, monkeypatch):
    rows = json.loads(printed(capsys, monkeypatch, recording, "openssl", "--format", "json"))["tables"][0]["rows"]
    assert [(row["role"], row["configuration"]) for row in rows] == [
        (role, configuration) for role in ("server", "client") for configuration in ("default", "low memory")
    ]
    assert [row["live_heap_in_use_bytes"] for row in rows[:2]] == [53_000, 22_000]


def test_a_library_is_its_newest_release_as_servers_build_it():
    there = ["openssl@3.5.5", "openssl@4.0.3", "rustls+ring@0.23.46", "rustls+aws-lc@0.23.46"]
    there += ["rustls+aws-lc@0.24.0-dev.2", "wolfssl@5.9.4"]
    assert newest_releases(there) == {"openssl": "openssl@4.0.3", "rustls": "rustls+aws-lc@0.23.46"}


@pytest.mark.parametrize(
    "words",
    ["opensl", "openssl@9.9.9", "openssl --suite tls13", "openssl --suite nonsense", "--role srver"],
)
def test_what_cannot_be_answered_is_one_sentence(recording, capsys, monkeypatch, snapshot, words):
    assert refused(capsys, monkeypatch, recording, *words.split()) == snapshot


@pytest.mark.parametrize("name", ["OpenSSL", "OPENSSL@3.5.5", "openssl@3.5"])
def test_capitals_and_the_rest_of_a_version_may_be_left_out(recording, capsys, monkeypatch, name):
    (table,) = json.loads(printed(capsys, monkeypatch, recording, name, "--format", "json"))["tables"]
    assert {row["stack"] for row in table["rows"]} == {OPENSSL}


def test_a_version_in_short_is_of_the_build_that_servers_use_and_stderr_names_it(capsys):
    among = recordings.find_recordings(None)
    assert recorded_stacks.resolve_stacks(["rustls@0.24", "Mbed TLS", "Go crypto/tls@1.26"], among, None) == [
        "rustls+aws-lc@0.24.0-dev.2",
        recorded_stacks.resolve_stack("mbedtls", among),
        "go@1.26.11",
    ]
    assert "rustls@0.24: using rustls+aws-lc@0.24.0-dev.2" in capsys.readouterr().err


def test_a_stack_that_is_not_recorded_has_the_command_that_records_it_or_why_there_is_none():
    among = recordings.find_recordings(None)
    with pytest.raises(
        ValueError, match=r"tickets@5.9.4; to record it: tools/tls-memtest measure .* wolfssl\+tickets@5.9.4$"
    ):
        recorded_stacks.resolve_stacks(["wolfssl+tickets"], among, None)
    with pytest.raises(ValueError, match=r"no recording has the stack null@c; cannot be recorded: null@c has no TLS$"):
        recorded_stacks.resolve_stacks(["null@c"], among, None)
    named = [path for path in among if path.name.endswith("-go")]
    with pytest.raises(ValueError, match=r"^no runs of openssl@3.5.5 in data/.*-go; .*: leave --recording out$"):
        recorded_stacks.resolve_stacks(["openssl@3.5.5"], named, None)


def test_a_recording_may_be_named_without_its_folder_and_one_that_is_not_there_has_the_names_that_are():
    (known, *_) = recordings.find_recordings(None)
    assert recordings.find_recordings([Path(known.name)]) == [known]
    with pytest.raises(ValueError, match=f"^nowhere: no such recording; .*; data/ has .*{known.name}, "):
        recordings.find_recordings([Path("nowhere")])
    with pytest.raises(ValueError, match="did you mean 2026-11-23-amd-epyc-p4068"):
        recordings.find_recordings([Path("2026-11-23-epyc-p4068")])


def test_a_name_like_no_other_is_answered_with_the_libraries_there_are(recording, capsys, monkeypatch):
    assert refused(capsys, monkeypatch, recording, "nosuch").endswith(
        "stack: nosuch; there are: openssl, boringssl, rustls"
    )


def test_a_directory_without_runs_is_named_and_not_the_stack(tmp_path, capsys, monkeypatch):
    answer = refused(capsys, monkeypatch, tmp_path, "openssl@3.5.5")
    assert answer.startswith("memtest: ") and "no recording here (no .jsonl file)" in answer


def test_a_file_that_is_no_recording_is_named_and_gives_no_empty_table(capsys, monkeypatch):
    answer = refused(capsys, monkeypatch, ROOT / "README.md")
    assert "README.md: no recording here (no .jsonl file)" in answer


def test_a_picture_has_the_three_costs_of_each_library_the_least_rss_first(recording):
    groups = cost_picture.find_groups((), SUITE, "server", [recording])
    assert [group.costs.stack for group in groups] == [RUSTLS, OPENSSL]
    with rc_context(STYLE | {"font.size": 10}):
        made = cost_picture.figure(
            groups, SUITE, "server", cost_picture.describe_records_of_groups(groups, [recording])
        )
        made.draw_without_rendering()
        assert overlaps(made) == [] == find_alike(made)
    rustls, openssl = ([bar.get_width() for bar in made.axes[0].patches[at : at + 3]] for at in (0, 3))
    assert rustls[0] == 6_400 and openssl[0] == 53_000
    assert rustls == [*groups[0].sizes.values()] and openssl == [*groups[1].sizes.values()]
    title = f"A server session in use takes {rustls[2]:,.0f} B of RSS in rustls 0.23.46 (aws-lc), "
    assert made.texts[0].get_text().replace("\n", " ") == f"{title}{openssl[2]:,.0f} B in OpenSSL 3.5.5"
    pyplot.close(made)


def test_a_picture_names_the_libraries_that_it_is_without(tmp_path):
    runs = [run.model_copy(update={"window": 100}) for run in recorded(RUSTLS, "+tickets-library")]
    path = synthetic.write(tmp_path / "recording", [*runs, *synthetic.campaign([BORING], [SUITE], roles="split")])
    recordings.load_stack.cache_clear()
    groups = cost_picture.find_groups((), None, "server", [path])
    assert cost_picture.describe_records_of_groups(groups, [path]).startswith("Not drawn: BoringSSL (not recorded). ")
    assert not cost_picture.describe_records_of_groups(groups, []).startswith("Not drawn")


def test_a_library_without_the_suite_is_shown_in_the_one_it_has(tmp_path):
    runs = [run.model_copy(update={"window": 100}) for run in recorded(RUSTLS, "+tickets-library")]
    other = [run.model_copy(update={"suite": run.suite.replace(SUITE, "tls12-rsa-aes256")}) for run in runs]
    recordings.load_stack.cache_clear()
    (group,) = cost_picture.find_groups((), None, "server", [synthetic.write(tmp_path / "recording", other)])
    assert group.costs.suite == "tls12-rsa-aes256" and group.title(SUITE) == "rustls 0.23.46 (aws-lc)\nTLS 1.2"


@pytest.mark.thorough
def test_a_picture_is_two_files(recording, capsys, monkeypatch, tmp_path):
    written = printed(capsys, monkeypatch, recording, "-o", str(tmp_path / "server")).split()
    assert written == [str(tmp_path / f"server{ending}") for ending in (".png", ".svg")]
    assert all((tmp_path / name).stat().st_size for name in written)


def test_a_picture_of_nothing_is_refused(capsys, monkeypatch, tmp_path):
    bare = synthetic.write(tmp_path / "bare", synthetic.campaign([BORING], [SUITE], roles="split"))
    said = refused(capsys, monkeypatch, bare, "-o", str(tmp_path / "server"))
    command = f"tools/tls-memtest measure deployed-config --stacks {BORING}"
    assert said == f"memtest: no server session in use is recorded; to record it: {command}"


def test_a_picture_that_cannot_be_recorded_has_the_reason(recording, capsys, monkeypatch):
    suite = "tls13-ecdsa-aes256-mutual-each"
    said = refused(capsys, monkeypatch, recording, "--suite", suite, "-o", str(recording.parent / "picture"))
    assert (
        "cannot be recorded: each client needs a certificate of its own" in said and "tls-memtest measure" not in said
    )


@pytest.mark.thorough
def test_a_picture_says_which_named_stack_it_is_without_and_what_records_that(recording, capsys, monkeypatch, tmp_path):
    words = [OPENSSL, BORING, "--suite", SUITE, "-o", str(tmp_path / "server"), "--recording", str(recording)]
    recordings.load_stack.cache_clear()
    run_words(["cost", *words])
    said = capsys.readouterr().err
    assert said.startswith(f"memtest: {BORING} is not drawn: not all of it is recorded in {SUITE}; to record it: ")
    assert (
        f"tools/tls-memtest measure deployed-config --stacks {BORING} --suites {SUITE}" in said and OPENSSL not in said
    )
    alone = refused(capsys, monkeypatch, recording, BORING, "--suite", SUITE, "-o", str(tmp_path / "server"))
    assert f"{BORING} is not drawn" in alone


@pytest.mark.parametrize(("live", "more"), [(7636.5, "8,009 B, 372 B more"), (8009.0, None), (Missing("why"), None)])
def test_parts_that_add_up_to_more_than_the_live_heap_say_why(live, more):
    note = describe_sum({"record buffers, read": 7625.0, "session and tickets": 384.0}, live)
    assert (note is None) == (more is None) and (more or "") in (note or "")


def test_explain_has_the_peak_of_one_session_alone_by_parts_and_what_one_more_of_many_adds(
    tmp_path, capsys, monkeypatch, snapshot
):
    recording = synthetic.write(tmp_path / "recording", [record_peaks(planted.MOMENTARY)])
    found = find_costs.find_peaks(OPENSSL, SUITE, "client", [recording])
    assert (found.alone, found.one_more.size) == (("client 1", 21_100), 14_100)
    assert sum(found.parts.values()) == found.alone.size
    screen = printed(capsys, monkeypatch, recording, OPENSSL, "--explain", "--role", "client")
    assert screen.partition("A client session: the peak")[2].partition("What is recorded")[0] == snapshot
    assert max(map(len, screen.partition("A client session")[2].splitlines())) <= 80


def test_explain_says_that_an_old_recording_has_no_call_stacks_at_peaks(tmp_path, capsys, monkeypatch):
    recording = synthetic.write(tmp_path / "recording", [record_peaks(None)])
    screen = printed(capsys, monkeypatch, recording, OPENSSL, "--explain", "--role", "client")
    said = (
        "One session alone: not recorded, since sites runs of schemas before 9 have no call stacks at peaks. To record"
    )
    words = " ".join(screen.split())
    assert said in words and "one session alone not recorded one more of many at once 14,100 B in phase" in words
    assert "what the peak of one session alone is for" not in screen
    assert (
        screen.count("tools/tls-memtest measure in-use-sites --stacks openssl@3.5.5 --suites tls13-rsa-aes256\n") == 1
    )


@pytest.mark.parametrize(("momentary", "alone"), [(planted.MOMENTARY, "21,100"), (None, None)])
def test_files_have_both_peaks_with_explain(tmp_path, capsys, monkeypatch, momentary, alone):
    runs = [run.model_copy(update={"window": 100}) for run in recorded(OPENSSL, "+tickets-library")]
    recording = synthetic.write(tmp_path / "recording", [record_peaks(momentary), *runs])
    recordings.load_stack.cache_clear()
    words = ["--explain", "--role", "client", "--format"]
    [row] = json.loads(printed(capsys, monkeypatch, recording, OPENSSL, *words, "json"))["tables"][0]["rows"]
    assert row["peak_one_more_of_many_bytes"] == 14_100
    command = "to record it: tools/tls-memtest measure in-use-sites --stacks openssl@3.5.5 --suites tls13-rsa-aes256"
    peak = row["peak_one_session_alone_bytes"]
    assert peak == 21_100 if alone else command in peak["hole"]
    page = printed(capsys, monkeypatch, recording, OPENSSL, *words, "markdown")
    heads = "| Peak, one session alone, B | Peak, one more of many, B |" if alone else "| Peak, one more of many, B |"
    assert heads in page and "14,100 |" in page
    assert f" {alone} |" in page if alone else "No Peak, one session alone, B: not recorded, since" in page
    assert alone or command in page
    head, _ = printed(capsys, monkeypatch, recording, OPENSSL, *words, "csv").splitlines()[:2]
    assert {"peak_one_session_alone_bytes", "peak_one_more_of_many_bytes"} <= set(head.split(","))


def test_files_have_no_peaks_without_explain(recording, capsys, monkeypatch):
    assert "peak" not in printed(capsys, monkeypatch, recording, OPENSSL, "--format", "csv").splitlines()[0]


def test_a_server_is_no_library_but_can_be_planned_for(recording, capsys, monkeypatch):
    said = refused(capsys, monkeypatch, recording, "nginx")
    assert "nginx; it is a server: tools/tls-memtest plan memory --connections 10000 --as nginx" in said
