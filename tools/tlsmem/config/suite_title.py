"""A suite as people write it."""

import re

from tlsmem.config import definitions
from tlsmem.config.suite_variants import LIBRARY


def suite_title(suite: str) -> str:
    """Return the suite's protocol, cipher, group and certificate: `TLS 1.3, AES-256-GCM, X25519, RSA-2048`.

    A suite that memtest/suites.toml does not define, as other people's recordings may have, is returned unchanged."""
    if suite not in definitions.suites():
        return suite
    known = definitions.suites()[suite]
    bits = re.search("128|256", known.cipher)
    cipher = f"AES-{bits[0]}-GCM" if bits and "GCM" in known.cipher else "ChaCha20-Poly1305"
    certs = known.certs.upper().replace("MLDSA", "ML-DSA")
    offered = f" (client: {known.client_groups})" * bool(known.client_groups)
    return f"{known.protocol.replace('TLSv', 'TLS ')}, {cipher}, {known.group}{offered}, {certs}"


def full_suite_title(suite: str) -> str:
    """Return the title with everything that distinguishes the suite: `..., RSA-2048, client certificates, 1 ticket`.

    A suite that memtest/suites.toml does not define is returned unchanged."""
    if suite not in definitions.suites():
        return suite
    known = definitions.suites()[suite]
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
    return ", ".join([suite_title(suite), *(word for word, holds in words.items() if holds)])


def suite_difference(suite: str, usual: str) -> str | None:
    """Return all in which the suite's title differs from the usual one's: `TLS 1.2`; None where it does not."""
    if suite not in definitions.suites() or usual not in definitions.suites():
        return None if suite == usual else suite
    pairs = zip(suite_title(suite).split(", "), suite_title(usual).split(", "), strict=True)
    return ", ".join(ours for ours, theirs in pairs if ours != theirs) or None
