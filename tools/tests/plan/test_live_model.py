"""Plans for servers that are known from their live runs alone, against runs that were made by hand."""

import contextlib
import hashlib
import json

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.plan.case import describe_range
from tlsmem.plan.live_check import check_live, check_server
from tlsmem.plan.live_model import fit_live
from tlsmem.plan.server_memory import group_runs
from tlsmem.schema.live_records import LiveRecord, append_live, load_live_file
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings

NGINX = ROOT / "data/2026-11-24-amd-epyc-p0457-live/live/nginx.jsonl.zst"
HAPROXY = NGINX.with_name("haproxy.jsonl.zst")
BASE, EACH, HANDSHAKE, PLAIN, KERNEL = 10_000_000, 15_000, 30_000, 700, 4_000
NAME = "mosquitto"


def rename_server(run: LiveRecord, processes: bool = False) -> LiveRecord:
    """Return a run of another server, with RSS that is known. `processes`: each connection has one, whose pages of
    files count 1 MB."""
    handshakes = (run.window - 20) * HANDSHAKE if run.transport == "tls" else 0
    each = EACH if run.transport == "tls" else PLAIN
    phases = []
    for phase in run.phases:
        grown = phase.connections * each + handshakes if phase.phase != "started" else 0
        files = 1_000_000 * phase.connections if processes else 0
        server = phase.server.model_copy(
            update={
                "rss_bytes": BASE + grown + files,
                "rss_anon_bytes": BASE // 2 + grown,
                "page_table_bytes": 0,
                "processes": 1 + phase.connections if processes else 1,
            }
        )
        kernel = phase.server_kernel.model_copy(update={"kernel_bytes": KERNEL * phase.connections, "tcp_bytes": 0})
        phases.append(phase.model_copy(update={"server": server, "server_kernel": kernel}))
    return run.model_copy(update={"server": NAME, "phases": phases})


@pytest.fixture(params=[False, True], ids=["one process", "a process for each connection"])
def recording(request, tmp_path):
    for run in load_live_file(NGINX):
        if run.connections <= 9_900 and not run.hollow:
            append_live(tmp_path, rename_server(run, request.param))
    fit_live.cache_clear()
    return tmp_path


def test_a_fit_has_the_terms_that_the_runs_were_made_of(recording):
    fit = fit_live(NAME, None, (recording,))
    assert fit.process == BASE
    assert fit.first == pytest.approx({"at-rest": 0, "in-use": 0}, abs=1)
    assert round(fit.growth["in-use"].slope) == EACH
    assert fit.handshake == pytest.approx({"at-rest": HANDSHAKE, "in-use": HANDSHAKE})
    assert (round(fit.plain["in-use"]), round(fit.kernel["at-rest"])) == (PLAIN, KERNEL)
    assert fit.is_handshake_measured
    assert fit.predict(5_000, 100, "in-use") == pytest.approx(BASE + 5_000 * EACH + 80 * HANDSHAKE)


def test_runs_of_another_kind_are_no_part_of_a_fit(recording):
    """As a client, with kernel TLS, and with certificates of clients: each takes twice as much."""
    fit = fit_live(NAME, None, (recording,))
    for run in load_live_file(NGINX):
        if run.window == 100 and not run.hollow:
            for number, changes in enumerate(({"role": "client"}, {"ktls": True}, {"mutual": True})):
                other = with_slope(run, 2 * EACH).model_copy(update={"server": NAME, **changes})
                append_live(recording, other.model_copy(update={"key": digits(str(number), run)}))
    fit_live.cache_clear()
    group_runs.cache_clear()
    assert fit_live(NAME, None, (recording,)).growth == fit.growth


def test_every_run_is_predicted_from_others(recording):
    errors = [one.error for one in check_live((recording,)) if one.server == NAME]
    assert len(errors) > 20
    assert max(map(abs, errors)) < 1e-6


def test_a_handshake_is_estimated_where_none_were_all_concurrent(tmp_path):
    for run in load_live_file(NGINX):
        if run.window == 100 and not run.hollow:
            append_live(tmp_path, rename_server(run))
    fit = fit_live(NAME, None, (tmp_path,))
    assert not fit.is_handshake_measured
    assert fit.handshake == pytest.approx({"at-rest": HANDSHAKE, "in-use": HANDSHAKE})
    assert isinstance(fit.plain["in-use"], Missing)


def test_what_the_first_connections_add_once_is_told_by_state(tmp_path, capsys):
    """As in Redis, whose connections use memory that was there before, and in Ruby, whose heap the first requests
    enlarge: 3 MB less at rest, 5 MB more in use."""
    moved = {"established": -3_000_000, "idle": 5_000_000}
    for run in load_live_file(NGINX):
        if run.connections <= 9_900 and run.window in (100, run.connections) and not run.hollow:
            named = rename_server(run)
            phases = [
                one.model_copy(
                    update={
                        "server": one.server.model_copy(
                            update={"rss_bytes": one.server.rss_bytes + moved.get(one.phase, 0)}
                        )
                    }
                )
                for one in named.phases
            ]
            append_live(tmp_path, named.model_copy(update={"phases": phases}))
    fit_live.cache_clear()
    fit = fit_live(NAME, None, (tmp_path,))
    assert fit.process == BASE
    assert fit.first == pytest.approx({"at-rest": -3_000_000, "in-use": 5_000_000})
    assert fit.handshake == pytest.approx({"at-rest": HANDSHAKE, "in-use": HANDSHAKE})
    assert max(abs(one.error) for one in check_live((tmp_path,)) if one.server == NAME) < 1e-6

    def peak(connections, *words):
        words = ["--recording", str(tmp_path), "--kernel-bytes", "0", *words, "--format", "json", "--table", "memory"]
        with contextlib.suppress(UserError):
            run_words(["plan", "memory", "--connections", str(connections), "--as", NAME, *words])
        (table,) = json.loads(capsys.readouterr().out)["tables"]
        return next(row["bytes"] for row in table["rows"] if row["what"] == "peak")

    rest, use = peak(1_000, "--state", "at-rest"), peak(1_000)
    more = 1_000 * EACH - 20 * HANDSHAKE  # the process has had 20 handshakes
    assert (rest, use) == (BASE - 3_000_000 + more, BASE + 5_000_000 + more)
    assert peak(1_000, "--in-use", "30%") == use  # one request suffices for what the first ones enlarge
    assert peak(1_000, "--in-use", "0%") == rest
    assert peak(10, "--state", "at-rest") == BASE  # they use what was there, and need no more
    assert peak(300, "--state", "at-rest") == BASE - 3_000_000 + 300 * EACH - 20 * HANDSHAKE
    assert peak(1_000, "--handshaking", "100") == BASE + 5_000_000 + 1_000 * EACH + 80 * HANDSHAKE


def plan(capsys, *words: str) -> str:
    """Return what `plan memory` prints or says."""
    with contextlib.suppress(UserError):
        run_words(["plan", "memory", "--connections", "5000", "--as", NAME, *words])
    return " ".join(capsys.readouterr().out.split())


def test_the_screen_has_the_figures_of_the_live_runs(recording, capsys):
    """By hand: 10,000,000 + 5,000 x (15,000 + 4,000) - 20 x 30,000 B are 99.6 MiB."""
    shown = plan(capsys, "--recording", str(recording))
    assert shown.startswith("Provision 99.6 MiB for 5,000 active connections")
    assert "5,000 x 15,000 B" in shown and "5,000 x 4,000 B" in shown
    assert "Without TLS, a connection takes 700 B of RSS: TLS adds 14,300 B." in shown
    assert "From live runs in" in shown
    assert "with its concurrent handshakes, was less than 0.1 % off the measured RSS in use." in shown


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ((-0.061, 0.118), "6.1 % below to 11.8 % above"),
        ((0.002, 0.009), "0.2 to 0.9 % above"),
        ((-0.034, -0.0031), "0.3 to 3.4 % below"),
        ((-0.0042, -0.0041), "0.4 % below"),
        ((-0.0002, 0.0003), "less than 0.1 % off"),
        ((-0.0002, 0.002), "0.0 to 0.2 % above"),
        ((-0.002, 0.0004), "0.0 to 0.2 % below"),
    ],
)
def test_how_far_off_plans_are_is_told_with_its_side(errors, words):
    assert describe_range(*errors) == words


def test_a_server_that_collects_garbage_is_said_to_where_its_plan_says_how_exact_it_is(capsys):
    """Of the recorded runs themselves, as `plan check` has them; and no handshakes of a stack are missed."""
    for name, collects in (("go", True), ("mosquitto", False)):
        build = ["--stack", "go@1.26.8"] if name == "go" else []
        with contextlib.suppress(UserError):
            run_words(["plan", "memory", "--connections", "5000", "--as", name, *build])
        shown = " ".join(capsys.readouterr().out.split())
        errors = sorted(one.error for one in check_server(name, None, None) if one.state == "in use")
        assert f"was {describe_range(errors[0], errors[-1])} the measured RSS in use." in shown
        assert ("Its runtime collects garbage" in shown) == collects
        assert shown.startswith("Provision ≈") == (max(map(abs, errors)) > 0.05)
    with contextlib.suppress(UserError):
        run_words(["plan", "memory", "--connections", "5000", "--as", "postgresql"])
    assert "cannot be recorded" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--low-memory",), "leave out --low-memory"),
        (("--tickets", "0"), "leave out --tickets"),
        (("--allocator", "jemalloc"), "leave out --allocator"),
        (("--role", "client"), "leave out --role"),
        (("--mtls",), "leave out --suite"),
        (("--stack", "openssl@3.5.5"), "it was not measured on openssl@3.5.5; leave out --stack"),
    ],
)
def test_what_live_runs_do_not_tell_is_refused_in_one_sentence(words, sentence, tmp_path):
    for run in load_live_file(NGINX):
        if run.window == 100 and not run.hollow:
            append_live(tmp_path, rename_server(run))
    with pytest.raises(UserError) as error:
        run_words(["plan", "memory", "--connections", "9", "--as", NAME, "--recording", str(tmp_path), *words])
    assert error.value.status == 2
    assert sentence in str(error.value) and "\n" not in str(error.value)


def test_a_server_that_nobody_recorded_is_one_sentence_with_the_command(monkeypatch):
    monkeypatch.setattr(recordings, "find_live_recordings", lambda named=(): ())
    with pytest.raises(UserError, match="no live runs of it are recorded; `make live SERVER=php`") as error:
        run_words(["plan", "memory", "--connections", "9", "--as", "php"])
    assert error.value.status == 2


def test_a_build_that_only_live_runs_have_is_compared_with_another(tmp_path, capsys):
    """HAProxy has 30,000 B a connection on a build of OpenSSL of which the harness has no session, and
    28,000 on OpenSSL: that comes from a session and what is beyond it, and is the slope of RSS all the same, less what
    20 handshakes of the harness left in the process."""
    for run in load_live_file(HAPROXY):
        if run.window == 100 and run.connections <= 9_900:
            for stack, each in (("openssl+clang@3.2.0", 2 * EACH), ("openssl@3.5.5", 2 * EACH - 2_000)):
                append_live(
                    tmp_path, with_slope(run, each).model_copy(update={"stack": stack, "key": digits(stack, run)})
                )
    words = ["plan", "memory", "--connections", "10000", "--as", "haproxy", "--recording", str(tmp_path)]
    run_words([*words, "--stack", "openssl@3.5.5", "--stack", "openssl+clang@3.2.0", "--kernel-bytes", "0"])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("OpenSSL 3.5.5 saves ≈19.6 MiB (7 %) in HAProxy: 276 MiB instead of 296 MiB ")
    assert "Both are measured: HAProxy ran on each of the two." in shown


def with_slope(run: LiveRecord, each: int) -> LiveRecord:
    """Return a run with so many bytes of RSS for each connection, and no more."""
    phases = [
        phase.model_copy(
            update={"server": phase.server.model_copy(update={"rss_bytes": BASE + phase.connections * each})}
        )
        for phase in run.phases
    ]
    return run.model_copy(update={"phases": phases})


def digits(stack: str, run: LiveRecord) -> str:
    """Return a key of the run's own."""
    return hashlib.sha256(f"{stack} {run.key}".encode()).hexdigest()[:16]


def test_a_plan_on_another_library_leads_to_the_one_that_was_measured(capsys):
    """httpd was measured on Debian's OpenSSL; of CPython's ssl, programs are recorded by names of their own."""
    for name, leads in (("httpd", True), ("python", False)):
        run_words(["plan", "memory", "--connections", "1000", "--stack", "openssl@3.5.5", "--as", name])
        shown = " ".join(capsys.readouterr().out.split())
        assert (f"`--as {name}` without --stack has it on another library" in shown) is leads
        assert "is not recorded" in shown
