"""Which bytes are TLS, as a sentence and as tables, and per session."""

import json
import shlex

import pytest

from tests.explore.test_inspect_heaptrack import inspect, massif, recording, refused  # noqa: F401  # fixtures
from tests.support import handmade
from tlsmem.explore import tls_table
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import PEAK, CallstackTree, LiveHeap, Moment, Profile, sum_live


def program(*stacks: tuple[str, int, int]) -> Profile:
    """Of another program: `function@module` of each frame, innermost first; bytes and blocks at the peak."""
    tree, live = CallstackTree(), {}
    for text, size, blocks in stacks:
        number = 0
        for one in reversed(text.split()):
            function, _, module = one.partition("@")
            known = Frame(None if function == "?" else function, None, None, f"/usr/lib/{module}", 16)
            number = tree.add(tree.place((known,)), number)
        live[number] = LiveHeap(size, blocks)
    return Profile("heaptrack", "a.zst", "a", tree, {PEAK: Moment(PEAK, sum(one.bytes for one in live.values()), live)})


SERVER = program(
    ("CRYPTO_zalloc@libcrypto.so.3 SSL_new@libssl.so.3 main@a", 7000, 2),
    ("?@libssl.so.3 ?@libssl.so.3 main@a", 2 * 16712, 2),
    ("?@libssl.so.3 ?@libssl.so.3 configure@a", 536, 1),
    ("CRYPTO_zalloc@libcrypto.so.3 SSL_CTX_new@libssl.so.3 main@a", 1616, 1),
    ("CRYPTO_zalloc@libcrypto.so.3 EVP_MD_CTX_new@libcrypto.so.3 main@a", 100, 1),
    ("?@libgnutls.so.30 call_init@ld.so", 40, 2),
    ("g_malloc@libglib.so main@a", 900, 9),
    ("", 8, 1),
)


def test_a_sentence_says_what_sessions_hold():
    assert tls_table.describe_shares(SERVER, PEAK, 2) == (
        "TLS sessions hold 40,424 B of 43,624 B (92.7 %) at the peak: OpenSSL (libssl.so.3). Per session: 20,212 B. "
        "All of TLS: 42,576 B (97.6 %), of which 536 B may be sessions' or contexts'."
    )


def test_a_program_without_tls_has_none():
    only = program(("?@libcrypto.so.3 EVP_DigestInit@libcrypto.so.3 main@a", 30, 1), ("main@a", 70, 1))
    assert tls_table.describe_shares(only, PEAK) == (
        "TLS holds 0 B of 100 B at the peak; cryptography without TLS holds 30 B (30.0 %)."
    )
    assert tls_table.describe_shares(program(("main@a", 70, 1)), PEAK) == "TLS holds 0 B of 70 B at the peak."


def test_the_sentence_says_what_the_bytes_are_unless_they_are_requested_bytes():
    sampled = program(("main@a", 70, 1))
    sampled.unit, sampled.sampled_every_bytes = "usable", 524288
    told = tls_table.describe_shares(sampled, PEAK)
    assert told.startswith("TLS holds 0 B of 70 B at the peak. Bytes are the usable sizes of blocks")
    assert "one sample in about 524,288 B" in told and "Bytes are" not in tls_table.describe_shares(SERVER, PEAK)


def test_the_rows_are_all_that_is_live(snapshot):
    table = tls_table.share_table(SERVER, PEAK, 2)
    rows = [[cell.text for cell in row] for row in table.rows]
    assert rows == snapshot
    assert sum(row[3].value for row in table.rows) == SERVER.moments[PEAK].bytes
    assert sum(row[4].value for row in table.rows) == sum_live(SERVER.moments[PEAK].live).blocks


def test_blocks_without_names_are_named_by_their_size():
    table = tls_table.unnamed_blocks_table(SERVER, PEAK, 10)
    assert [row[0].value for row in table.rows] == [16712, 536]
    buffer, either = (row[4].text for row in table.rows)
    assert "ssl3_setup_read_buffer: record buffers, read (OpenSSL 3.0)" in buffer
    assert "ssl_cert_new: context" in either and table.rows[1][3].text == "TLS, session or context"
    assert tls_table.unnamed_blocks_table(SERVER, PEAK, 1).more == "1 more size holds 536 B in 1 block."
    assert tls_table.unnamed_blocks_table(program(("main@a", 70, 1)), PEAK, 10) is None


def test_of_a_harness_each_role_has_its_sessions():
    table = tls_table.share_table(handmade.profile(), "sessions")
    of = {(row[0].value, row[2].value): row[-1].value for row in table.rows}
    assert of["TLS sessions", "client"] == {"bytes": 1000, "blocks": 1}
    assert of["TLS sessions", "server"] == {"bytes": 1512.5, "blocks": 3.5}
    told = tls_table.describe_shares(handmade.profile(), "sessions")
    assert "Per session: client 1,000 B, server 1,512.50 B." in told


@pytest.mark.parametrize("options", ["", "--tls", "--callers", "--by bytes"])
def test_every_view_begins_with_the_sentence(recording, options):  # noqa: F811
    done = inspect(recording, *shlex.split(options), "--phase", "idle")
    assert done.stdout.startswith("TLS sessions hold 159 B of 159 B (100.0 %) at the end of `idle`: OpenSSL 3.5.5.")


@pytest.mark.thorough
def test_programs_get_tables_alone(recording):  # noqa: F811
    done = inspect(recording, "--tls", "--phase", "idle", "--json")
    (table,) = json.loads(done.stdout)["tables"]
    assert [(row["what"], row["owner"], row["bytes"]) for row in table["rows"]] == [
        ("TLS sessions", "client", 9),
        ("TLS sessions", "server", 150),
    ]
    assert inspect(recording, "--tls", "--phase", "idle", "--format", "csv").stdout.startswith(
        "what,library,owner,bytes,blocks,share\n"
    )
    assert inspect(recording, "--phase", "idle", "--folded", "-").stdout.startswith("client")


def test_tls_covers_every_call_stack(massif):  # noqa: F811
    assert "--tls covers every call stack; leave --role out" in refused(2, massif, "--tls", "--role", "server")
    assert "--buckets needs a single profile" in refused(2, "--diff", massif, massif, "--buckets")
