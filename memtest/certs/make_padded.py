#!/usr/bin/env python3
"""Makes chains that compress well: one certificate has an extension of many zero bytes, which no library knows.

usage: make_padded.py KIND   (makes build/certs/KIND; standard library)

Of the files of memtest/certs/KIND. Its `padding` names the chain that becomes longer, and by how many bytes. Where the
directory has the key of the intermediate, that is the leaf, which is signed again. Else a certificate stands behind the
others that nobody needs: the last one with the extension, whose signature is that of what it was."""

import base64
import fcntl
import hashlib
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from make_many import DONE, Signer, pem  # noqa: E402

CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\n(.*?)-----END CERTIFICATE-----\n", re.DOTALL)
SEQUENCE, BITS, OCTETS, EXTENSIONS = 0x30, 0x03, 0x04, 0xA3
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
        raise ValueError("the certificate to pad has no extensions")
    zeros = value(SEQUENCE, UNKNOWN + value(OCTETS, bytes(count)))
    longer = value(EXTENSIONS, value(SEQUENCE, inside(inside(extensions)) + zeros))
    return value(SEQUENCE, b"".join([value(SEQUENCE, b"".join([*before, longer])), *rest]))


def sign(certificate: bytes, key: bytes) -> bytes:
    """Return the certificate with the signature of what it says now."""
    signed, algorithm, _ = parts(inside(certificate))
    return value(SEQUENCE, signed + algorithm + value(BITS, b"\0" + Signer(key).sign(signed)))


def hash_of(files: list[Path]) -> str:
    """Return the hash of all that the directory is made from."""
    return hashlib.sha256(b"".join(one.read_bytes() for one in files)).hexdigest()


def make(out: Path) -> None:
    """Make the directory of this name, unless it is there as it would be made now."""
    source, lock = HERE / out.name, out.with_name(f".{out.name}.lock")
    name, count = (source / "padding").read_text().split()
    expected = hash_of([Path(__file__), *sorted(source.iterdir())])
    out.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if (out / DONE).is_file() and (out / DONE).read_text() == expected:
            return
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(source, out, ignore=shutil.ignore_patterns(DONE))
        chain = [base64.b64decode(one) for one in CERTIFICATE.findall((source / name).read_text())]
        if (source / "intermediate-key.pem").is_file():
            chain[0] = sign(pad(chain[0], int(count)), (source / "intermediate-key.pem").read_bytes())
        else:
            chain.append(pad(chain[-1], int(count)))
        (out / name).write_text("".join(map(pem, chain)))
        (out / DONE).write_text(expected)  # last: all others are there


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        make(HERE.parents[1] / "build/certs" / sys.argv[1])
    except (OSError, ValueError) as error:
        sys.exit(f"make_padded.py: {error}")
