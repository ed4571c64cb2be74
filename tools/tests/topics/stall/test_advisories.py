"""The register of advisories: figures before and after a correction, to the byte, and what has none."""

from types import SimpleNamespace

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config import advisories as register
from tlsmem.config import definitions
from tlsmem.config.advisories import Advisory, advisories
from tlsmem.schema import read_records, recording_files
from tlsmem.schema.records import RecordLine
from tlsmem.topics.stall import section as stall_section
from tlsmem.topics.stall.advisories import advisory_list, advisory_table, find_findings, find_unlisted, refusal_note
from tlsmem.topics.stall.stalls import Stall, find_stalls

RECORDING = ROOT / "data/2026-11-24-amd-epyc-p0457"
BEFORE, AFTER, REFUSES = "openssl@3.6.2", "openssl@3.6.3", "boringssl@5.4.0"
ADVISORY = {"library": "OpenSSL", "sends": "something", "affects": "3.6 before 3.6.3", "says": "somebody"}
MEASURED = ADVISORY | {"point": "announced-hello", "suite": "tls13-rsa-aes256", "before": [BEFORE], "after": [AFTER]}


@pytest.fixture(scope="module")
def records() -> list[RecordLine]:
    found = []
    for stack in BEFORE, AFTER, REFUSES:
        content = recording_files.read_content(recording_files.find_stack(RECORDING, stack))
        found += [read_records.parse(line, stack) for line in content.splitlines()]
    return [run for run in found if run.scenario == "stall" and run.suite == "tls13-rsa-aes256"]


@pytest.fixture(scope="module")
def rows(records) -> dict[str, dict]:
    """The rows of HollowByte, by stack."""
    table = advisory_table(records)
    keys = [column.key for column in table.columns]
    return {row["stack"].text: row for row in (dict(zip(keys, one, strict=True)) for one in table.rows)}


def test_before_the_correction_memory_is_held_and_after_it_none(rows):
    assert [(rows[stack]["call_peak_bytes"].value, rows[stack]["held_bytes"].value) for stack in (BEFORE, AFTER)] == [
        (175_204, 153_356),
        (0, 0),
    ]
    assert [rows[stack]["until"].text for stack in (BEFORE, AFTER)] == ["the session is closed", "the call returns"]
    assert [rows[stack]["state"].text for stack in (BEFORE, AFTER, REFUSES)] == ["before", "after", "beside"]
    assert rows[BEFORE]["held_rss_bytes"].value > 130_000 > 1_000 > rows[AFTER]["held_rss_bytes"].value


def test_what_is_refused_has_the_libraries_own_words_and_no_figure(rows):
    assert rows[REFUSES]["call_peak_bytes"].text == "refused"
    assert rows[REFUSES]["call_peak_bytes"].note.endswith("EXCESSIVE_MESSAGE_SIZE")
    assert "hole" in rows[REFUSES]["held_bytes"].data()


def test_what_has_no_row_is_a_sentence(records):
    without = advisory_table(records).without
    assert "CVE-2025-14831: not among these runs: gnutls@3.8.9" in " ".join(without)
    assert any(line.startswith("HollowByte: not measured of OpenSSL 3.5.6") for line in without)


def test_the_list_has_each_advisory_with_its_command_or_the_reason(records):
    table = advisory_list(records)
    at = {row[0].text: row[6] for row in table.rows}
    assert list(at) == list(advisories())
    assert at["HollowByte"].text == "announced-hello, tls13-rsa-aes256, `tools/tls-memtest measure advisories`"
    assert at["CVE-2025-14831"].text.endswith("`tools/tls-memtest measure advisories-constraints`")
    assert at["CVE-2026-54874"].note == "not measured: the harness has no datagrams"
    assert not advisory_list([]).rows and not advisory_table([]).without


def test_a_build_of_no_release_is_a_row_that_the_register_cannot_name(records):
    """openssl@system of a user's own recording: the row says what it holds, and the list has the releases beside it."""
    mine = [run.model_copy(update={"stack": "openssl@system"}) for run in records if run.stack == BEFORE]
    others = [run.model_copy(update={"stack": name}) for run in mine for name in ("gnutls@path", "openssl@3.0.13")]
    (row,) = advisory_table([*mine, *others]).rows
    assert [cell.text for cell in row[:3]] == ["HollowByte", "openssl@system", "unknown"]
    assert row[6].value == 153_356
    (hollow, *_) = advisory_list(mine).rows
    assert "3.0 before 3.0.21" in hollow[3].text
    listed = advisories()["CVE-2025-14831"]
    assert ("unknown", "gnutls@system") not in find_unlisted(listed, [("gnutls@system", "s", "p")])  # it is beside


def test_each_series_of_openssl_has_an_answer_for_hollowbyte():
    """A release between two that are measured is a question that people have: Ubuntu 24.04 has 3.0.13."""
    text = advisories()["HollowByte"].affects
    assert all(series in text for series in ("1.1.1", "3.0 ", "3.1", "3.4 ", "3.5 ", "3.6 ", "4.0"))
    assert "CVE-2024-2511" in advisories()


def changed(run: RecordLine, live: int, peak: int) -> Stall:
    """The run's stall, whose server has so many bytes in all in `stalled`, and such a peak, beyond `connected`."""
    phases = [one.model_dump() for one in run.phases]
    base = next(one["heap"]["server"]["live_bytes"] for one in phases if one["phase"] == "connected")
    for one in phases:
        if one["phase"] == "stalled":
            one["heap"]["server"] |= {"live_bytes": base + live, "peak_bytes": base + peak}
    (found,) = find_stalls([RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases})])
    return found


@pytest.mark.parametrize(
    ("live", "peak", "expected"),
    [
        (0, 0, 0),
        (0, 7_000, 7_000),  # given back before the call returns
        (100 * 500, 100 * 500, 500),  # each of 100 sessions holds it
        (100 * 500, 99 * 500 + 7_000, 7_000),  # the last one's peak is the highest
        (-100 * 500, 7_000, 7_000),  # the first one's: later ones have less below them
    ],
)
def test_the_peak_is_of_one_call(records, live, peak, expected):
    (run,) = (one for one in records if one.stack == AFTER and one.meter == "heap" and "point=silent" in one.argv)
    assert run.sessions == 200
    assert changed(run, live, peak).call_peak_bytes == expected


def test_an_ordinary_peer_is_of_the_same_stack(records):
    place = {"point": "unread-flight", "suite": "tls13-rsa-aes256"}
    known = {"one": Advisory(**MEASURED, ordinary=place), "two": Advisory(**MEASURED)}
    found = {(one.identifier, one.stall.stack): one for one in find_findings(known, records)}
    plain = next(one for one in find_stalls(records) if one.stack == BEFORE and one.point == "unread-flight")
    assert found["one", BEFORE].ordinary_peak_bytes == plain.call_peak_bytes > 0
    assert found["two", BEFORE].ordinary_peak_bytes.reason == "such a peer sends nothing"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"point": "announced-helo"}, "[one]: point: unknown point announced-helo; did you mean announced-hello"),
        ({"suite": "tls13-rsa-aes25"}, "[one]: suite: memtest/suites.toml has no suite tls13-rsa-aes25"),
        (
            {"after": ["openssl@3.6.33"]},
            "[one]: after.0: memtest/stacks.toml has no stack openssl@3.6.33; did you mean",
        ),
        ({"after": []}, "[one]: after is missing; say where it is measured, or give reason"),
        ({"reason": "none"}, "[one]: point: what is not measured has none; leave out it or reason"),
        ({"sent": "x"}, "[one]: sent"),
        ({"affects": ""}, "[one]: affects"),
    ],
)
def test_a_register_that_is_wrong_is_a_sentence(tmp_path, monkeypatch, change, why):
    text = "[one]\n" + "".join(f"{key} = {value!r}\n" for key, value in (MEASURED | change).items())
    (tmp_path / "advisories.toml").write_text(text)
    monkeypatch.setattr(register, "DEFINITIONS", tmp_path)
    with pytest.raises(UserError) as stop:
        advisories()
    assert why in str(stop.value) and str(tmp_path / "advisories.toml") in str(stop.value)


def test_the_campaigns_measure_all_of_the_register():
    """Each stack of each advisory, and its ordinary peer."""
    campaigns = [one for name, one in definitions.campaigns().items() if name.startswith("advisories")]
    measured = {
        (stack, suite, point)
        for one in campaigns
        for stack in one.stacks
        for suite in one.suites
        for point in dict(one.settings[0])["point"]
    }
    wanted = {
        (stack, place.suite, place.point)
        for one in advisories().values()
        for _, stack in one.stacks()
        for place in (one.place, one.ordinary)
        if place
    }
    assert wanted <= measured


def test_a_report_shows_the_register_of_the_recording_that_has_most_of_it(records):
    some = [run for run in records if run.stack == BEFORE]
    one, two = (SimpleNamespace(path=path, records=runs) for path, runs in (("few", some), ("most", records)))
    (shown,) = stall_section.show_register([one, two])
    assert shown.command == "tools/tls-memtest show tables most --table advisories"
    assert len(shown.table.rows) == 3 and not shown.table.without
    assert not list(stall_section.show_register([SimpleNamespace(path="none", records=[])]))


@pytest.mark.parametrize("what", ["reach the point client-flight", "take the suite's certificates"])
def test_words_of_a_refusal_are_the_librarys_alone(what):
    reason = (
        f"OpenSSL 3.5.5 27 Jan 2026: does not {what}: handshake: too large (TLSv1.3, TLS_AES_256_GCM_SHA384, X25519)"
    )
    assert refusal_note(SimpleNamespace(refusal=reason)) == "handshake: too large"
