#!/usr/bin/env python3
"""Makes chains that compress well: a certificate of many zero bytes stands behind the others, and nobody needs it.

usage: make_padded.py KIND   (makes build/certs/KIND; standard library)

Of the files of memtest/certs/KIND. Its `padding` names the chain that becomes longer, and by how many bytes. The added
certificate is the last one of that chain with an extension of zeros, which no library knows: its signature is that of
what it was, so nothing can be verified by it."""

import base64
import fcntl
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n(.*?)-----END CERTIFICATE-----\n", re.DOTALL)
SEQUENCE, OCTETS, EXTENSIONS = 0x30, 0x04, 0xA3
UNKNOWN = bytes.fromhex("06092b0601040181fd5901")  # 1.3.6.1.4.1.32473.1: an example of RFC 5612


def value(tag: int, body: bytes) -> bytes:
    """Return a DER value."""
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def parts(der: bytes) -> list[bytes]:
    """Return the values that stand one behind the other, each with its header."""
    found = []
    while der:
        header = 2 + (der[1] & 0x7F if der[1] & 0x80 else 0)
        size = header + (int.from_bytes(der[2:header], "big") if header > 2 else der[1])
        found.append(der[:size])
        der = der[size:]
    return found


def inside(der: bytes) -> bytes:
    """Return what a value has behind its header."""
    return der[2 + (der[1] & 0x7F if der[1] & 0x80 else 0) :]


def pad(certificate: bytes, count: int) -> bytes:
    """Return the certificate with an extension of so many zeros more."""
    signed, *rest = parts(inside(certificate))
    *before, extensions = parts(inside(signed))
    if extensions[0] != EXTENSIONS:
        raise ValueError("the last certificate of the chain has no extensions")
    zeros = value(SEQUENCE, UNKNOWN + value(OCTETS, bytes(count)))
    longer = value(EXTENSIONS, value(SEQUENCE, inside(inside(extensions)) + zeros))
    return value(SEQUENCE, b"".join([value(SEQUENCE, b"".join([*before, longer])), *rest]))


def make(out: Path) -> None:
    """Make the directory of this name, unless it is there as it would be made now."""
    source, lock = HERE / out.name, out.with_name(f".{out.name}.lock")
    name, count = (source / "padding").read_text().split()
    out.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if (out / "padding").is_file() and (out / "padding").read_text() == f"{name} {count}\n":
            return
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(source, out, ignore=shutil.ignore_patterns("padding"))
        *_, last = CERTIFICATE.findall((source / name).read_text())
        padded = base64.encodebytes(pad(base64.b64decode(last), int(count))).decode()
        with (out / name).open("a") as chain:
            chain.write(f"-----BEGIN CERTIFICATE-----\n{padded}-----END CERTIFICATE-----\n")
        (out / "padding").write_text(f"{name} {count}\n")  # last: all others are there


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        make(HERE.parents[1] / "build/certs" / sys.argv[1])
    except (OSError, ValueError) as error:
        sys.exit(f"make_padded.py: {error}")
