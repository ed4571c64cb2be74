"""Where a library's blocks come from is read in its own file, or in that of libcrypto."""

import numpy as np
import pytest

from tlsmem.census.allocator import find_foreign
from tlsmem.census.library import GNUTLS, OPENSSL, Library, LibraryFile
from tlsmem.census.live_heap import LiveHeap
from tlsmem.census.sessions import find_distinct
from tlsmem.census.target import MappedFile, Range, Running

TLS, CRYPTO, LIBC, OWN = (
    MappedFile(f"/lib/{name}", 0, number, (Range(number << 20, (number + 1) << 20, True),))
    for number, name in enumerate(("libtls.so", "libcrypto.so.3", "libc.so.6", "own"), 1)
)
TARGET = Running(1, "server", (TLS, CRYPTO, LIBC, OWN))
IN_TLS, IN_CRYPTO, IN_LIBC, IN_OWN, NOWHERE = ((number << 20) + 64 for number in (1, 2, 3, 4, 9))


class Contents:
    """Stands for a memory that has these words by their address, and else one that leads nowhere."""

    def __init__(self, words):
        self.words = words

    def read_words(self, starts, counts):
        return np.array([self.words.get(start, NOWHERE) for start in starts.tolist()], np.uint64)


def library(kind, own, joined):
    return Library(TLS, CRYPTO, LibraryFile(kind, None, {}, own), {}, joined, None, "")


@pytest.mark.parametrize(
    ("function", "slot", "expected"),
    [
        (IN_CRYPTO, IN_LIBC, None),
        (IN_CRYPTO, IN_CRYPTO, None),  # not called yet
        (0, 0, None),  # not loaded yet
        (IN_OWN, IN_LIBC, "/lib/own"),
        (IN_CRYPTO, IN_OWN, "/lib/own"),
        (NOWHERE, IN_LIBC, "code that is in no file"),
    ],
)
def test_functions_of_openssl_are_read_in_libcrypto(function, slot, expected):
    places = {"crypto_base": 0x1000, "malloc_function": 0x1100, "malloc_slot": 0x1200}
    memory = Contents({(2 << 20) + 0x100: function, (2 << 20) + 0x200: slot})
    assert find_foreign(memory, TARGET, library(OPENSSL, {}, places)) == expected


@pytest.mark.parametrize(("slot", "expected"), [(IN_LIBC, None), (IN_OWN, "/lib/own")])
def test_that_of_gnutls_is_read_in_its_own_file(slot, expected):
    """Although libcrypto, whose functions are elsewhere, is there too."""
    own = {"crypto_base": 0, "malloc_slot": 0x300}
    memory = Contents({(1 << 20) + 0x300: slot})
    assert find_foreign(memory, TARGET, library(GNUTLS, own, {"malloc_function": 0x1100} | own)) == expected


@pytest.mark.parametrize(("behind", "expected"), [(0, [True, True, False, False]), (8, [False, True, True, True])])
def test_a_block_is_in_chunks_that_malloc_may_give_for_it(behind, expected):
    """By hand, of 128 bytes with 80 before: chunks of 224 and 240 bytes; of at least 8 behind, of 224 to 256."""
    sizes = np.array([224, 240, 256, 272] if not behind else [208, 224, 240, 256])
    heap = LiveHeap(None, sizes, sizes, sizes, np.zeros(4, np.uint16), lead_bytes=80, behind_bytes=behind)
    assert heap.have_block(np.arange(4), 128).tolist() == expected
    assert heap.have_block(np.array([2, 0, -1]), 128).tolist() == [expected[2], expected[0], expected[3]]


def test_a_block_with_a_mapping_of_its_own_is_told_by_its_pages():
    """By hand: 128 bytes are in a chunk of 144; as a mapping, of whole pages, at least 152 bytes."""
    sizes, marks = np.array([144, 4096, 8192, 4096]), np.array([0, 1 << 15, 1 << 15, 0], np.uint16)
    heap = LiveHeap(None, sizes, sizes, sizes, marks)
    assert heap.have_block(np.arange(4), 128).tolist() == [True, True, False, False]


def test_distinct_chunks_are_in_order():
    for chunks, expected in (([], []), ([3], [3]), ([5, 3, 5, 3, 1], [1, 3, 5])):
        assert find_distinct(np.array(chunks, np.int64)).tolist() == expected
