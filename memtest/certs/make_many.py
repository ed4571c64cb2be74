#!/usr/bin/env python3
"""Makes what the scenario `contexts` reads beside a suite's files: stores of many roots, certificates of many names.

usage: make_many.py [DIRECTORY]   (default: build/certs/rsa-2048-many; standard library, and OpenSSL 3's libcrypto)

Of the files of rsa-2048-many, which make_certs.sh made: root.pem, chain.pem, key.pem as they are; cas-N/root.pem with
the root and N-1 others; names/NNNNN/chain.pem for DNS:name-NNNNN.example, with the key of all leaves. A name's
certificate is the template's with other digits, signed again, so two machines make the same bytes."""

import base64
import ctypes
import fcntl
import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KIND = "rsa-2048-many"
STORES = (10, 150)  # roots of a client's store, beside the one of root.pem
NAMES = 10_000
TEMPLATE = b"name-00000"  # in the serial number, the CN and the DNS name
PEM = re.compile(r"-----BEGIN [A-Z ]+-----\n.*?-----END [A-Z ]+-----\n", re.DOTALL)
SIGNATURE_BYTES = 256  # RSA-2048, at the end of a certificate
DONE = "made-from"  # a file with the hash of what all others were made from


class Signer:
    """The intermediate's key: RSA with SHA-256, PKCS #1 v1.5, which has no random numbers."""

    def __init__(self, key: bytes):
        self.library = ctypes.CDLL("libcrypto.so.3")
        for name in ("BIO_new_mem_buf", "PEM_read_bio_PrivateKey", "EVP_MD_CTX_new", "EVP_sha256"):
            getattr(self.library, name).restype = ctypes.c_void_p
        file = ctypes.c_void_p(self.library.BIO_new_mem_buf(key, len(key)))
        self.key = ctypes.c_void_p(self.library.PEM_read_bio_PrivateKey(file, None, None, None))
        self.hash = ctypes.c_void_p(self.library.EVP_sha256())

    def sign(self, message: bytes) -> bytes:
        """Return the signature. Raises OSError where libcrypto makes none."""
        context = ctypes.c_void_p(self.library.EVP_MD_CTX_new())
        signature, size = ctypes.create_string_buffer(SIGNATURE_BYTES), ctypes.c_size_t(SIGNATURE_BYTES)
        begun = self.library.EVP_DigestSignInit(context, None, self.hash, None, self.key)
        done = begun == 1 and self.library.EVP_DigestSign(
            context, signature, ctypes.byref(size), message, ctypes.c_size_t(len(message))
        )
        self.library.EVP_MD_CTX_free(context)
        if done != 1 or size.value != SIGNATURE_BYTES:
            raise OSError("libcrypto cannot sign with intermediate-key.pem")
        return signature.raw


def contents(certificate: bytes) -> tuple[int, int]:
    """Return where the part of a certificate begins and ends that is signed: each length has two bytes."""
    size = int.from_bytes(certificate[6:8], "big")
    if certificate[:2] != b"\x30\x82" or certificate[4:6] != b"\x30\x82":
        raise ValueError("name.pem is not a certificate of some hundred bytes")
    return 4, 8 + size


def name_certificate(template: bytes, number: int, signer: Signer) -> bytes:
    """Return the template's certificate for another name."""
    start, end = contents(template)
    message = template[start:end].replace(TEMPLATE, b"name-%05d" % number)
    rest = template[end:-SIGNATURE_BYTES]  # the algorithm, and the head of the signature
    return template[:start] + message + rest + signer.sign(message)


def pem(certificate: bytes) -> str:
    """Return a certificate as PEM."""
    text = base64.b64encode(certificate).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


def write_names(source: Path, out: Path) -> None:
    """Write a directory for each name."""
    template = base64.b64decode("".join((source / "name.pem").read_text().splitlines()[1:-1]))
    intermediate = (source / "intermediate.pem").read_text()
    signer = Signer((source / "intermediate-key.pem").read_bytes())
    for number in range(1, NAMES):
        place = out / "names" / f"{number:05d}"
        place.mkdir(parents=True)
        (place / "chain.pem").write_text(pem(name_certificate(template, number, signer)) + intermediate)
        os.link(out / "key.pem", place / "key.pem")


def write_stores(source: Path, out: Path) -> None:
    """Write each store of roots: the suite's own, then others."""
    own, others = (source / "root.pem").read_text(), PEM.findall((source / "other-roots.pem").read_text())
    for count in STORES:
        if count > len(others) + 1:
            raise ValueError(f"other-roots.pem has {len(others)} roots; a store of {count} needs {count - 1}")
        (out / f"cas-{count}").mkdir()
        (out / f"cas-{count}/root.pem").write_text(own + "".join(others[: count - 1]))


def hash_of(source: Path) -> str:
    """Return the hash of all that the files are made from."""
    parts = [Path(__file__), *sorted(source.iterdir())]
    return hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()


def make(out: Path, source: Path = HERE / KIND) -> bool:
    """Make the files, if they are not there as they would be made now; return whether they were made."""
    expected, lock = hash_of(source), out.with_name(f".{out.name}.lock")
    out.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = out / DONE
        if done.is_file() and done.read_text() == expected:
            return False
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        for name in ("root.pem", "chain.pem", "key.pem"):
            shutil.copy(source / name, out / name)
        write_stores(source, out)
        write_names(source, out)
        done.write_text(expected)
    return True


if __name__ == "__main__":
    try:
        make(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "build/certs" / KIND)
    except (OSError, ValueError) as error:
        sys.exit(f"make_many.py: {error}")
