"""A TLS library as the census knows it: what a file of it says, and where a process has it.

Objects have the names that the library's documentation gives them."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tlsmem.census.heap_walk import Places, Words
from tlsmem.census.live_heap import LiveHeap
from tlsmem.census.target import MappedFile

OPENSSL, CRYPTO, GNUTLS = "OpenSSL", "libcrypto", "GnuTLS"
SESSION, TICKET, CONTEXT, RECORD_LAYER, BIO, X509 = "SSL", "SSL_SESSION", "SSL_CTX", "record layer", "BIO", "X509"


@dataclass(frozen=True)
class LibraryFile:
    """What one file has of a TLS library.

    `library` is OPENSSL, CRYPTO (OpenSSL without its TLS part), GNUTLS, or the name of one that is not counted.
    `sizes` are in bytes as they are requested, by object. `fields` are offsets in a session and in a BIO, by the keys
    that object_sizes.py gives them."""

    library: str
    version: str | None
    sizes: dict[str, int] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Library:
    """A TLS library in a process: its file, what that says, and the file that has its BIOs, which may be the same.
    `sizes` and `fields` are those of both files."""

    mapped: MappedFile
    mapped_crypto: MappedFile
    found: LibraryFile
    sizes: dict[str, int]
    fields: dict[str, int]
    version: str | None
    source: str  # where the sizes are from

    def has_methods(self, words: Words) -> npt.NDArray[np.bool_]:
        """Return which words lead to where the library has its methods: in a file that is loaded anywhere, what only
        the loader writes to."""
        if "relro" not in self.fields:
            return self.mapped.has(words)
        start = self.mapped.bounds[0] - self.fields["base"] + self.fields["relro"]
        found: npt.NDArray[np.bool_] = words - np.uint64(start) < np.uint64(self.fields["relro_bytes"])
        return found

    @property
    def title(self) -> str:
        return f"{self.found.library} {self.version}" if self.version else self.found.library

    def find(self, heap: LiveHeap, chunks: Places, *names: str) -> npt.NDArray[np.bool_]:
        """Return in which of these chunks there may be one of these objects."""
        found = np.zeros(len(chunks), bool)
        for name in names:
            found |= heap.have_block(chunks, self.sizes[name]) if name in self.sizes else False
        return found
