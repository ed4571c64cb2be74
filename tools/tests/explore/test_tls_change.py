"""How much of a diff is TLS, counted by hand."""

from tests.explore.test_tls_table import program
from tests.support.pairs import BUFFER, OTHER, SERVER, frame
from tests.support.pairs import profile as harness
from tlsmem.explore.diff import tls_change
from tlsmem.explore.diff.profile_diff import compare
from tlsmem.profile.heap_profile import BASE

SESSION = "CRYPTO_zalloc@libcrypto.so.3 SSL_new@libssl.so.3 main@a"
CONTEXT = "CRYPTO_zalloc@libcrypto.so.3 SSL_CTX_new@libssl.so.3 main@a"
OWN = "main@a"


def described(old, new) -> str:
    return tls_change.describe_change(compare(old, new))


def test_the_first_line_says_by_how_much_and_how_much_of_that_is_tls():
    old = program((SESSION, 7000, 2), (CONTEXT, 1616, 1), (OWN, 1000, 1))
    new = program((SESSION, 10500, 3), (CONTEXT, 1616, 1), (OWN, 1500, 1))
    assert described(old, new) == (
        "NEW holds 4,000 B (41.6 %) more than OLD at the peak: OLD 9,616 B, NEW 13,616 B. "
        "Memory of TLS sessions: NEW holds 3,500 B more (87.5 % of the difference). "
        "All memory of TLS: 3,500 B more (87.5 % of the difference): OpenSSL (libssl.so.3)."
    )
    assert described(new, old).startswith("NEW holds 4,000 B (29.4 %) less than OLD at the peak")
    assert "Memory of TLS sessions: NEW holds 3,500 B less (87.5 % of the difference)" in described(new, old)


def test_what_goes_the_other_way_has_no_share_and_no_tls_is_said():
    old, new = program((SESSION, 7000, 2), (OWN, 10, 1)), program((SESSION, 6000, 2), (OWN, 3010, 1))
    assert "Memory of TLS sessions: NEW holds 1,000 B less. All memory of TLS: 1,000 B less: OpenSSL" in described(
        old, new
    )
    assert described(old, old).startswith("NEW holds as much as OLD at the peak: OLD 7,010 B, NEW 7,010 B.")
    plain = program((OWN, 10, 1)), program((OWN, 30, 1))
    assert described(*plain).endswith("OLD 10 B, NEW 30 B. None of it is TLS.")
    assert described(plain[0], plain[0]).endswith("TLS holds 0 B in both.")


def test_of_sessions_the_figures_are_of_one():
    old = harness({BASE: {BUFFER: 100}, "established": {BUFFER: 300, OTHER: 80}})
    new = harness({BASE: {BUFFER: 120}, "established": {BUFFER: 380, OTHER: 80}})
    assert described(old, new) == (
        "NEW holds as much per client session, 30 B (30.0 %) more per server session once sessions are established. "
        "All of this difference is memory of TLS sessions. "
        "TLS memory that belongs to no session: NEW holds 20 B more: OpenSSL 3.5.5."
    )


def test_what_of_a_session_is_not_tls_is_told_apart():
    plain = (frame("null_new", 4, "null.c"), *SERVER)
    openssl = harness({BASE: {}, "established": {BUFFER: 300, OTHER: 80}})
    null = harness({BASE: {}, "established": {plain: 100}}, stack="null@c")
    assert described(null, openssl).startswith(
        "NEW holds 40 B more per client session, 100 B (200.0 %) more per server session once sessions are "
        "established. Of this difference, memory of TLS sessions: NEW holds 40 B more per client session, 150 B more"
    )
    assert "TLS sessions hold as much in both: OpenSSL 3.5.5." in described(openssl, openssl)


def test_the_rows_of_the_table_add_up_to_the_difference():
    old = program((SESSION, 7000, 2), (CONTEXT, 1616, 1), (OWN, 1000, 1))
    new = program((SESSION, 10500, 3), (CONTEXT, 1600, 1), (OWN, 1500, 1))
    table = tls_change.change_table(compare(old, new))
    assert [(row[0].text, row[2].value, row[-1].text) for row in table.rows] == [
        ("TLS sessions", 3500, "87.9 %"),
        ("TLS contexts and certificates", -16, "–"),
        ("other", 500, "12.6 %"),
    ]
    assert sum(row[2].value for row in table.rows) == 3984
