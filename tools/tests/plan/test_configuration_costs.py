"""What certificates, reloads and workers add to a plan, by hand from records whose costs are known."""

import argparse

import pytest

from tests.support.configured import BLINDING, LEFT, RSS, WORKER, configuration_record, configuration_records
from tlsmem.base.errors import UserError
from tlsmem.cli.dispatch import run_words
from tlsmem.plan.configuration_costs import SettingCost, interpolate, requested_costs
from tlsmem.schema.configuration_records import append_configuration
from tlsmem.stats.configuration_costs import ASKED

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """In the records, a certificate takes 40,000 B, which master and worker share, and 2,000 B of the worker's own once
    it is asked for; each reload leaves 25,000 B."""
    place = tmp_path_factory.mktemp("configured")
    for setting in ("certificates", "worker-connections", "backends"):
        kind = "rsa-2048" if setting == "certificates" else None
        for run in configuration_records(setting=setting, kind=kind):
            append_configuration(place, run)
    return place


def ask(recording, stack: str = STACK, **options: int):
    given = argparse.Namespace(server="nginx", live=[recording], **options)
    return requested_costs(given, stack, SUITE)


def test_what_workers_share_counts_once_and_what_they_do_not_in_each(recording):
    (one,) = ask(recording, certificates=500).found
    assert one == SettingCost("certificates", 500, RSS + BLINDING, "rsa-2048")
    many, workers = ask(recording, certificates=500, workers=4).found
    assert many.each == RSS + 4 * BLINDING
    assert workers == SettingCost("more workers", 3, WORKER)


@pytest.mark.parametrize(("reloads", "left", "words"), [(1, 1, "after 1"), (2, 2, "after 2"), (9, 2, "after 9 (meas")])
def test_a_reload_leaves_what_the_records_have(recording, reloads, left, words):
    """LEFT for each certificate and reload, in pages that are shared; beyond two reloads as after two."""
    _, found = ask(recording, certificates=100, reloads=reloads).found
    assert found.each == LEFT * 100 * left
    assert found.remark.startswith(words)


def test_between_and_beyond_the_recorded_numbers_a_reload_leaves_what_the_nearest_two_have():
    points = {20: 100, 100: 900, 200: 2900}
    at = {10: 0, 20: 100, 60: 500, 100: 900, 150: 1900, 200: 2900, 300: 4900}
    assert {place: interpolate(points, place) for place in at} == at


def test_runs_in_which_not_all_names_were_asked_for_say_nothing_about_that(tmp_path):
    """As where a client asks for a thousand of two thousand names: the slope is that of the others."""
    for run in configuration_records(kind="rsa-2048"):
        append_configuration(tmp_path, run)
    part = configuration_record(2000).model_copy(update={"certificates_seen": 1000})
    started = part.phases[0].processes
    phases = [one.model_copy(update={"processes": started}) if one.phase == ASKED else one for one in part.phases]
    append_configuration(tmp_path, part.model_copy(update={"phases": phases}))
    (cost,) = ask(tmp_path, certificates=5).found
    assert cost.each == RSS + BLINDING
    assert ask(tmp_path, reloads=1, certificates=2000).found[1].each == LEFT * 2000


def test_of_committed_recordings_the_one_with_most_certificates_counts():
    """Not the one whose name is last in the alphabet."""
    given = argparse.Namespace(server="nginx", live=[], certificates=5)
    assert "data/2026-11-28-amd-epyc-p0457-certificates" in requested_costs(given, STACK, SUITE).source


def test_a_plan_adds_them(recording, capsys):
    words = ["plan", "memory", "--connections", "1000", "--as", "nginx", "--stack", STACK]
    run_words([*words, "--recording", str(recording), "--certificates", "500"])
    shown = capsys.readouterr().out
    assert f"certificates              20.0 MiB  500 x {RSS + BLINDING:,} B, rsa-2048" in shown
    assert "Its configuration: RSS of nginx/1.26.3 on OpenSSL 3.5.5" in " ".join(shown.split())


def test_a_certificate_with_another_kind_of_key_is_not_taken_for_it(recording):
    """The records have RSA keys alone; ECDSA keys are in the committed recording."""
    given = argparse.Namespace(server="nginx", live=[recording], certificates=5)
    (rsa,), (ecdsa,) = (requested_costs(given, STACK, f"tls13-{kind}-aes256").found for kind in ("rsa", "ecdsa"))
    assert (rsa.each, rsa.remark) == (RSS + BLINDING, "rsa-2048")
    assert ecdsa.remark == "ecdsa-p256" and ecdsa.each != rsa.each


def test_a_server_behind_a_proxy_costs_what_the_same_proxy_was_measured_with(recording, capsys):
    """Not a context of the harness, where the proxy is recorded on this library; JSON names both recordings."""
    words = ["plan", "memory", "--connections", "1000", "--role", "both", "--backends", "9", "--backend-servers", "3"]
    words += ["--stack", STACK, "--recording", str(recording)]
    run_words([*words, "--as", "nginx"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"3 x {RSS:,} B" in shown
    assert "RSS of one more location with proxy_pass https:// in nginx/1.26.3 on OpenSSL 3.5.5" in shown
    run_words(words)
    assert "client context with one CA" in " ".join(capsys.readouterr().out.split())


def test_json_names_the_recordings_of_the_server_too(recording, capsys):
    words = ["plan", "memory", "--connections", "1000", "--as", "nginx", "--stack", STACK, "--certificates", "5"]
    run_words([*words, "--recording", str(recording), "--format", "json", "--table", "memory"])
    shown = capsys.readouterr().out
    assert "Process and server's own: RSS of nginx/1.26.3 on OpenSSL 3.5.5, data/" in shown
    assert "pages that processes share count once" in shown and recording.name in shown


def test_what_is_not_recorded_is_said_with_its_command(tmp_path):
    """Not the figures of the same server on another library."""
    found = ask(tmp_path, "openssl@4.0.3", certificates=5, workers=2)
    assert [sentence.partition(":")[0] for sentence in found.missing] == ["--certificates", "--workers"]
    command = "tools/tls-memtest measure configuration --server nginx --stack openssl@4.0.3"
    assert all(sentence.endswith(command) for sentence in found.missing)
    assert not found.found


def test_tables_alone_do_not_hide_what_is_not_recorded(capsys):
    words = ["plan", "memory", "--connections", "9", "--as", "nginx", "--stack", "boringssl@5.4.0"]
    run_words([*words, "--certificates", "5", "--format", "json"])
    shown = capsys.readouterr()
    assert shown.out.startswith("[") or shown.out.startswith("{")
    assert "memtest: --certificates: not recorded of nginx and not included" in shown.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--certificates", "5"), "--certificates also needs --as nginx or --as haproxy"),
        (("--as", "haproxy", "--workers", "2"), "--workers: worker processes were measured of nginx alone"),
        (("--as", "nginx", "--certificates", "0"), "--certificates"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(words, sentence):
    with pytest.raises(UserError) as error:
        run_words(["plan", "memory", "--connections", "9", *words])
    assert error.value.status == 2
    assert sentence in str(error.value) and "\n" not in str(error.value)
