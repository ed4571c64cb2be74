"""Block sizes that tell objects of TLS libraries: which count, and that the file has those of a recording."""

import block_sizes
from block_sizes import Holder, format_series
from tlsmem.base.paths import ROOT
from tlsmem.config import tls_rules
from tlsmem.store import read_runs

SUITES = {f"suite {number}" for number in range(10)}
READ, KEYS = "record buffers, read", "keys and cipher contexts"


def sizes_of(*holders: tuple[int, str, str | None, str, int]) -> block_sizes.Sizes:
    """By size, by who holds it, in how many of the ten suites; all suites have a block of 9,999 B."""
    found: block_sizes.Sizes = {9999: {Holder("sessions", None, "other"): SUITES}}
    for size, of, function, bucket, suites in holders:
        found.setdefault(size, {})[Holder(of, function, bucket)] = set(sorted(SUITES)[:suites])
    return found


def test_a_fixed_size_counts_with_who_allocates_it():
    lines = format_series(
        sizes_of((16712, "sessions", "setup_read", READ, 2), (1616, "contexts", "CTX_new", "context", 1)), ()
    )
    assert lines == [
        '    { bytes = 1616, of = "contexts", by = ["CTX_new: context"] },',
        '    { bytes = 16712, of = "sessions", by = ["setup_read: record buffers, read"] },',
    ]


def test_sizes_that_follow_from_the_data_do_not_count():
    assert format_series(sizes_of((600, "sessions", "key_new", KEYS, 1)), ()) == []  # of one suite in ten
    assert format_series(sizes_of((600, "sessions", "cert_new", "peer certificates", 10)), ()) == []
    assert format_series(sizes_of((600, "sessions", None, READ, 10)), ()) == []  # nobody tells what it is
    grown = [(size, "sessions", "grow", READ, 10) for size in (600, 700, 800, 900)]
    assert format_series(sizes_of(*grown), ()) == [] and len(format_series(sizes_of(*grown[1:]), ())) == 3


def test_a_size_that_contexts_of_any_release_have_is_either_s():
    buffer = (600, "sessions", "cert_dup", READ, 10)
    both = sizes_of(buffer, (600, "contexts", None, "context", 1))
    for lines in (format_series(both, ()), format_series(sizes_of(buffer), {600})):
        assert 'of = "either", by = ["cert_dup: record buffers, read"]' in lines[0]


def test_the_file_has_the_buffers_of_a_recording():
    """Otherwise run tools/dev/write_tls_sizes.py, and commit what it wrote."""
    records = read_runs.load(ROOT / "data/2026-11-26-amd-epyc-p355e-advisories/openssl@3.0.20.jsonl.zst")
    ((series, sizes),) = block_sizes.collect(records).items()
    in_file = {one.bytes: one for one in tls_rules.block_sizes()[series]}
    recorded = {size for size, holders in sizes.items() for holder in holders if "record buffers" in holder.bucket}
    assert series == "OpenSSL 3.0" and recorded == {16584, 16712}
    assert all(in_file[size].of == "sessions" and "record buffers" in in_file[size].by[0] for size in recorded)


def test_what_our_drivers_allocate_is_no_library_s():
    """The driver of Mbed TLS allocates a structure of 568 B for each session."""
    records = read_runs.load(ROOT / "data/2026-11-26-amd-epyc-p355e-sites/mbedtls@3.6.6.jsonl.zst")
    ((series, sizes),) = block_sizes.collect(records).items()
    functions = {holder.function for holders in sizes.values() for holder in holders}
    assert series == "Mbed TLS 3.6" and "ssl_handshake_init" in functions and "session_new" not in functions
