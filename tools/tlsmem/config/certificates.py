"""The certificates of memtest/certs: how many a chain has, and how long their encodings are. Standard library only."""

import base64
import re
from functools import cache
from pathlib import Path

from tlsmem.base.paths import IS_WHEEL
from tlsmem.config.toml_tables import DEFINITIONS

CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)
KINDS = {  # of keys, as tables name them, by the start of a directory's name
    "rsa-2048": "RSA-2048",
    "rsa-4096": "RSA-4096",
    "ecdsa-p256": "P-256",
    "ecdsa-p384": "P-384",
    "ed25519": "Ed25519",
}
MANY_CLIENTS = "-clients"  # behind a kind: each client may have a certificate of its own
ALIKE = re.compile(rf"(-depth\d+|{MANY_CLIENTS})?$")  # what may stand behind a kind
LENGTHS = ".lengths"  # the end of a file's name in a wheel, which has them in place of certificates
SENT = {"client": "client-chain.pem", "server": "chain.pem"}  # by the role that sends it


def key_kind(certs: str) -> str | None:
    """Return the kind of all keys of a directory; None where they are of several kinds, or of one not in KINDS."""
    return KINDS.get(ALIKE.sub("", certs))


def has_many_clients(certs: str) -> bool:
    """Return whether the directory has certificates of many clients, which are equally long."""
    return certs.endswith(MANY_CLIENTS)


def is_for_all(certs: str) -> bool:
    """Return whether every stack is asked for the directory's suites, and not only in the campaigns that name them."""
    return not (DEFINITIONS / "certs" / certs / "only-in-campaigns").is_file()


def is_padded(certs: str) -> bool:
    """Return whether a chain of the directory is to be made longer: memtest/certs/make_padded.py."""
    return (DEFINITIONS / "certs" / certs / "padding").is_file()


def chain_sizes(certs: str, role: str) -> tuple[int, ...]:
    """Return the lengths of the certificates that a role sends, in bytes of DER, its own first.

    Raises ValueError with a sentence when the directory has no such chain."""
    return certificate_sizes(DEFINITIONS / "certs" / certs / SENT[role])


@cache
def certificate_sizes(chain: Path) -> tuple[int, ...]:
    """The same of a file; a wheel has the lengths alone."""
    try:
        if IS_WHEEL:
            return tuple(map(int, chain.with_suffix(LENGTHS).read_text().split()))
        text = chain.read_text()
    except OSError as error:
        raise ValueError(f"{chain}: {error.strerror}") from None
    return tuple(len(base64.b64decode(found)) for found in CERTIFICATE.findall(text))
