"""A suite as people write it."""

import re

from tlsmem.config import definitions
from tlsmem.config.suite_variants import LIBRARY


def suite_title(suite: str) -> str:
    """Return what distinguishes the suite: `TLS 1.3, AES-256-GCM, X25519, RSA-2048, client certificates, 1 ticket`.

    A suite that memtest/suites.toml does not define, as other people's recordings may have, is returned unchanged."""
    return ", ".join(title_words(suite)) if suite in definitions.suites() else suite


def title_words(suite: str) -> list[str]:
    """Return the protocol, cipher, group and certificate of a suite that is defined, and what else it sets."""
    known = definitions.suites()[suite]
    bits = re.search("128|256", known.cipher)
    cipher = f"AES-{bits[0]}-GCM" if bits and "GCM" in known.cipher else known.cipher
    if "CHACHA20" in known.cipher:
        cipher = "ChaCha20-Poly1305"
    offered = f" (client: {known.client_groups})" * bool(known.client_groups)
    clients = {"same": "client certificates", "each": "a certificate for each client"}
    tickets = (
        "the library's tickets" if known.tickets == LIBRARY else f"{known.tickets} ticket{'s' * (known.tickets != 1)}"
    )
    words = {
        clients[known.client_certs]: known.auth == "mutual",
        tickets: known.tickets != 0,
        "session store": known.store == "on",
        "resumed": known.resume == "on",
        known.options: known.options != "default",
    }
    return [
        known.protocol.replace("TLSv", "TLS "),
        cipher,
        f"{known.group}{offered}",
        known.certs.upper().replace("MLDSA", "ML-DSA"),
        *(word for word, holds in words.items() if holds),
    ]


def suite_difference(suite: str, usual: str) -> str | None:
    """Return all in which the suite's title differs from the usual one's: `TLS 1.2`; None where it does not."""
    if suite == usual:
        return None
    if suite not in definitions.suites() or usual not in definitions.suites():
        return suite
    usual_words = title_words(usual)
    return ", ".join(word for word in title_words(suite) if word not in usual_words) or suite
