"""Published rates beside ours: of which stack and suite each is, and what is said where it is not alike."""

import csv

import pytest

from tests.support import synthetic_timed
from tlsmem.stats.timed_selection import TimedSeries, Work
from tlsmem.tables.table import value_cell
from tlsmem.topics.timing import published
from tlsmem.topics.timing.published import FULL_AMONG_RESUMED

EPYC, ARM = "AMD EPYC", "aarch64"
XEON = "published 2024-10-18, on another machine (Xeon E-2386G)"


def beside(stack, suite, part, cpu=EPYC):
    run = synthetic_timed.record(stack, suite)
    run = run.model_copy(update={"machine": run.machine.model_copy(update={"cpu": cpu})})
    series = TimedSeries(stack, Work("handshake", suite), (run,))
    return value_cell(published.nearest_published(series, part), published.published_cell)


def test_every_line_of_both_files_is_read():
    lines = [len(list(csv.DictReader(file.open()))) for file in (published.OF_2023, published.REPORTS)]
    assert lines == [115, 204]
    assert len(published.figures()) == sum(lines)


@pytest.mark.parametrize(
    ("stack", "suite", "part", "rate"),
    [
        ("boringssl@76968bb3", "tls13-rsa-aes256", "send", 4332.5),
        ("openssl+clang@3.2.0", "tls12-rsa-chacha20", "send", 1676.11),
        ("openssl@3.2.0", "tls12-rsa-aes128", "send", 6503.58),
        ("openssl@3.2.0", "tls12-rsa-aes256-id", "server", 23183.8),
        ("openssl@3.2.0", "tls12-rsa-aes256-ticket", "server", 20190.1),
        ("openssl@3.2.0", "tls12-rsa-chacha20", "send", 2998.06),
        ("openssl@3.2.0", "tls13-rsa-aes256", "client", 2273.57),
        ("openssl@3.3.2", "tls12-ecdsa-aes256", "server", 5196.8),
        ("openssl@3.3.2", "tls13-rsa-aes256", "server", 1913.38),
        ("openssl@3.5.1", "tls13-rsa-aes256-pq", "server", 1714.24),
        ("openssl@3.5.1", "tls13-rsa-aes256-pq-ticket", "client", 3574.86),
        ("rustls+aws-lc+jemalloc-rust@0.22.0", "tls12-rsa-aes128", "send", 6712.29),
        ("rustls+aws-lc@0.22.0", "tls12-rsa-aes128", "send", 2847.44),
        ("rustls+aws-lc@0.23.15", "tls12-rsa-aes128", "receive", 7436.88),
        ("rustls+ring@0.22.0", "tls13-rsa-aes256", "receive", 3657.53),
    ],
)
def test_the_very_version_has_the_published_rate(stack, suite, part, rate):
    cell = beside(stack, suite, part)
    assert cell.value["rate"] == rate
    assert cell.text == f"{rate:,.0f}"
    assert cell.value["version"] == stack.partition("@")[2]
    assert cell.note.startswith("published 20") and "on another machine (" in cell.note


@pytest.mark.parametrize(
    ("stack", "suite", "part", "note"),
    [
        ("openssl@3.3.2", "tls12-rsa-aes128", "send", XEON),
        ("openssl@3.3.2", "tls13-rsa-aes256", "client", f"{XEON}; construction is not timed"),
        ("openssl+clang@3.3.2", "tls12-rsa-aes128", "send", f"{XEON}; built by gcc"),
        ("rustls+aws-lc@0.23.15", "tls12-rsa-aes128", "send", f"{XEON}; with jemalloc"),
        ("rustls+aws-lc+jemalloc-rust@0.23.15", "tls12-rsa-aes128", "send", XEON),
        (
            "rustls+aws-lc@0.23.15",
            "tls12-rsa-aes256-id",
            "server",
            f"{XEON}; with jemalloc; construction is timed too; not stated whether by id or by ticket",
        ),
    ],
)
def test_what_is_not_alike_is_said(stack, suite, part, note):
    assert beside(stack, suite, part).note == note


@pytest.mark.parametrize(
    ("stack", "suite", "part", "text", "note"),
    [
        (
            "openssl@3.5.5",
            "tls13-rsa-aes256-pq",
            "server",
            "(3.5.1: 1,714)",
            "for 3.5.1, the nearest published version",
        ),
        ("openssl@4.0.3", "tls13-rsa-aes256-pq", "server", "–", "not published"),
        (
            "openssl@3.0.22",
            "tls13-rsa-aes256",
            "server",
            "(3.2.0: 1,874)",
            "for 3.2.0, the nearest published version",
        ),
        ("rustls+aws-lc@0.23.46", "tls13-rsa-aes256", "send", "(0.23.37: 7,421)", "for 0.23.37, the nearest published"),
        ("rustls+aws-lc@0.24.0", "tls13-rsa-aes256", "send", "–", "not published"),
        ("rustls+aws-lc@0.24.0-dev.2", "tls13-rsa-aes256", "send", "–", "not published"),
        ("rustls+graviola@0.23.46", "tls13-rsa-aes256", "send", "–", "not published"),
        (
            "boringssl@5.4.0",
            "tls13-rsa-aes256",
            "send",
            "(30cd935: 7,565)",
            "for 30cd935, the newest published version",
        ),
        ("openssl+membio@3.2.0", "tls13-rsa-aes256", "send", "–", "not published"),
        ("openssl@3.3.2", "tls13-rsa-aes256-mutual", "client", "–", "not published"),
        ("openssl@system", "tls13-rsa-aes256", "send", "–", "not published"),
        ("gnutls@3.8.9", "tls13-rsa-aes256", "send", "–", "not published"),
    ],
)
def test_another_version_is_said_in_words_and_of_another_line_there_is_none(stack, suite, part, text, note):
    cell = beside(stack, suite, part)
    assert cell.text == text
    assert note in cell.note


@pytest.mark.parametrize(
    ("stack", "suite", "cpu", "version", "date", "machine"),
    [
        ("boringssl@5.4.0", "tls13-rsa-aes256", ARM, "76968bb3", "2024-10-31", "Ampere Altra Q80-30"),
        ("boringssl@5.4.0", "tls13-rsa-aes256", EPYC, "76968bb3", "2024-10-18", "Xeon E-2386G"),
        ("boringssl@5.4.0", "tls13-rsa-aes256-pq", ARM, "30cd935", "2026-03-07", "Xeon E-2386G"),
        ("boringssl@5.4.0", "tls13-rsa-aes256-pq", EPYC, "30cd935", "2026-03-07", "Xeon E-2386G"),
        ("openssl@3.3.2", "tls13-rsa-aes256", ARM, "3.3.2", "2024-10-31", "Ampere Altra Q80-30"),
        ("openssl@3.3.2", "tls13-rsa-aes256", EPYC, "3.3.2", "2024-10-18", "Xeon E-2386G"),
        ("openssl@3.5.1", "tls12-rsa-aes256", ARM, "3.5.1", "2025-07-31", "Xeon E-2386G"),
        ("openssl@3.5.5", "tls12-rsa-aes256", ARM, "3.3.2", "2024-10-31", "Ampere Altra Q80-30"),
        ("openssl@3.5.5", "tls12-rsa-aes256", EPYC, "3.5.1", "2025-07-31", "Xeon E-2386G"),
    ],
)
def test_the_very_version_is_first_then_a_machine_of_this_architecture(stack, suite, cpu, version, date, machine):
    said = beside(stack, suite, "server", cpu).value
    assert (said["version"], said["date"], said["machine"]) == (version, date, machine)


def test_handshakes_of_tls_13_are_hybrid_from_2025_on_and_transfers_are_not():
    assert beside("openssl@3.6.1", "tls13-rsa-aes256-pq", "server").text == "1,713"
    assert beside("openssl@3.6.1", "tls13-rsa-aes256", "server").value["version"] != "3.6.1"
    assert beside("openssl@3.6.1", "tls13-rsa-aes256", "send").text == "5,844"
    assert beside("openssl@3.6.1", "tls12-rsa-aes256", "server").text == "2,154"


@pytest.mark.parametrize("part", ["client", "server"])
def test_the_row_of_2023_that_was_no_resumption_is_marked(part):
    cell = beside("openssl@3.2.0", "tls13-rsa-aes256-id", part)
    assert cell.text == {"client": "[3,415]", "server": "[3,060]"}[part]
    assert cell.note.endswith(FULL_AMONG_RESUMED)
    others = [one for one in published.figures() if one.invalid]
    assert [(one.library, one.suites) for one in others] == [("openssl", ("tls13-rsa-aes256-id",))] * 2
