"""The picture of session stores: bars with client certificates and without, and what has no bar."""

import pytest
from matplotlib import pyplot

from tests.support import synthetic_store
from tests.support.colour_vision import find_alike
from tlsmem.topics.resumption import picture as session_stores
from tlsmem.topics.resumption.stores import SessionStore, find_stores

OPENSSL, WOLFSSL = "openssl@4.0.3", "wolfssl@5.9.4"
MUTUAL = "tls13-ecdsa-aes256-mutual-store"


def mutual(**given):
    run = synthetic_store.store(suite=MUTUAL, **given)
    return run.model_copy(update={"argv": [*run.argv, "auth=mutual"]})


@pytest.fixture
def stores() -> list[SessionStore]:
    """Two releases of a library, one of which has client certificates too, a library whose entries are not on the heap,
    and one that leaves the store to its caller."""
    runs = [
        synthetic_store.store(stack="openssl@3.5.5"),
        synthetic_store.store(stack=OPENSSL, most=100),
        mutual(stack=OPENSSL, entry=(5642, 20), most=100),
        synthetic_store.store(entry=(0, 0), stack=WOLFSSL),
        synthetic_store.store(
            entry=(4_060, 2), stack="gnutls@3.8.9", suite="tls12-ecdsa-aes256-store", protocol="TLSv1.2"
        ),
    ]
    return find_stores(runs)


def test_a_bar_is_a_store_without_client_certificates_and_what_these_add(stores):
    made, axes = pyplot.subplots(layout="constrained")
    session_stores.draw(made, axes, stores)
    rows = session_stores.find_rows(stores)
    assert [row.title for row in rows] == ["OpenSSL 4.0.3", "GnuTLS 3.8.9, TLS 1.2"]
    both, alone = ([bar.get_width() for bar in axes.patches[at : at + 2]] for at in (0, 2))
    sizes = [store.live_bytes[-1] / session_stores.MIB for store in rows[0]]
    assert both == pytest.approx([sizes[0], sizes[1] - sizes[0]]) and both[1] > both[0] and alone[1] == 0
    title, _, caption = (text.get_text().replace("\n", " ") for text in made.texts)
    stored = [store for row in rows for store in row if store]
    small, large, bearer = (f"{store.live_bytes[-1]:,}\N{NO-BREAK SPACE}B" for store in stored)
    assert title == (
        f"A server's default session store: up to {bearer} (GnuTLS 3.8.9, TLS 1.2), "
        f"with client certificates {large} (OpenSSL 4.0.3)"
    )
    assert next(text.get_text() for text in axes.texts) == f"{small} → {large}, 100 entries"
    assert axes.texts[1].get_text().endswith("the application's, no limit")
    of_one = session_stores.describe_finding(rows[:1])
    assert (
        of_one == f"A server's default session store: up to {small}, with client certificates {large} (OpenSSL 4.0.3)"
    )
    assert "recorded of OpenSSL. " in caption and find_alike(made) == []
    pyplot.close(made)


def test_libraries_with_entries_elsewhere_say_where(stores):
    assert session_stores.find_reasons(stores) == {"wolfssl": "a static table, not on the heap"}


def test_servers_that_keep_nothing_are_no_picture():
    with pytest.raises(ValueError, match="no server kept its sessions"):
        session_stores.draw(*pyplot.subplots(), [])
    pyplot.close("all")
