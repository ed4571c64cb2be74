"""Blocks that are live, blocks that were live at the peak, and all that were allocated, by allocation site.

Events are counted many at a time, as arrays: a Python call for each would take most of the time of a long file."""

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Sites = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

LARGEST_SIZE = 1 << 47  # bytes of an address space; sums of such sizes fit into 64 bits
FIRST_SITES = 1 << 10  # that the arrays have room for at first
NONE = -1


class HeaptrackEvents:
    """A site is a size and a call stack, numbered from 0. Arrays are indexed by site, and count blocks."""

    def __init__(self) -> None:
        self.count = 0  # of sites
        self.live_bytes = self.peak_bytes = 0
        self.latest = NONE  # the site that the last event allocated; NONE when it freed
        self._sizes, self._live, self._peak, self._allocated, self._temporary = np.zeros((5, FIRST_SITES), np.int64)

    @property
    def sizes(self) -> Counts:
        """Bytes requested by each allocation of the site."""
        return self._sizes[: self.count]

    @property
    def live(self) -> Counts:
        return self._live[: self.count]

    @property
    def peak(self) -> Counts:
        """Live where the peak was first reached."""
        return self._peak[: self.count]

    @property
    def allocated(self) -> Counts:
        return self._allocated[: self.count]

    @property
    def temporary(self) -> Counts:
        """Freed before any other event."""
        return self._temporary[: self.count]

    def add_sites(self, sizes: Counts) -> None:
        """Number sites of these sizes from `count` on."""
        old, self.count = self.count, self.count + len(sizes)
        if self.count > len(self._sizes):
            room = max(self.count, 2 * len(self._sizes))
            arrays = (self._sizes, self._live, self._peak, self._allocated, self._temporary)
            grown = (np.concatenate((array, np.zeros(room - len(array), np.int64))) for array in arrays)
            self._sizes, self._live, self._peak, self._allocated, self._temporary = grown
        self._sizes[old : self.count] = sizes

    def count_blocks(self, sites: Sites, frees: Mask) -> int | None:
        """Count these events, in their order. Where one frees a block that its site does not have, return the first
        such event, and count none."""
        if not len(sites):
            return None
        allocated = np.bincount(sites[~frees], minlength=self.count)
        freed = np.bincount(sites[frees], minlength=self.count)
        impossible = self.find_impossible_free(sites, frees, freed)
        if impossible is not None:
            return impossible
        changes = self._sizes[sites]
        np.negative(changes, where=frees, out=changes)
        live_bytes = self.live_bytes + np.cumsum(changes)
        highest = int(np.argmax(live_bytes))
        if live_bytes[highest] > self.peak_bytes:
            self.peak_bytes = int(live_bytes[highest])
            up_to, freed_there = sites[: highest + 1], frees[: highest + 1]
            added = np.bincount(up_to[~freed_there], minlength=self.count)
            self._peak[: self.count] = self.live + added - np.bincount(up_to[freed_there], minlength=self.count)
        before = np.concatenate(([self.latest], np.where(frees, NONE, sites)))
        temporary = frees & (before[:-1] == sites)
        self.temporary[:] += np.bincount(sites[temporary], minlength=self.count)
        self.allocated[:] += allocated
        self.live[:] += allocated - freed
        self.live_bytes, self.latest = int(live_bytes[-1]), int(before[-1])
        return None

    def find_impossible_free(self, sites: Sites, frees: Mask, freed: Counts) -> int | None:
        """The first event that frees a block that its site does not have; `freed` counts the frees of each site."""
        suspects = freed > self.live  # these need some of the blocks that are allocated meanwhile
        if not suspects.any():
            return None
        events = np.flatnonzero(suspects[sites])
        # Numbered among themselves, the suspects mostly fit into 16 bits, which numpy sorts several times faster.
        ranks = np.cumsum(suspects) - 1
        keys = ranks[sites[events]]
        keys = keys.astype(np.uint16) if ranks[-1] < 1 << 16 else keys
        by_site = events[np.argsort(keys, kind="stable")]
        ordered = sites[by_site]
        blocks = np.cumsum(np.where(frees[by_site], -1, 1))
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        before = np.concatenate(([0], blocks))[starts]  # of other sites
        lengths = np.diff(np.concatenate((starts, [len(ordered)])))
        left = blocks + np.repeat(self.live[ordered[starts]] - before, lengths)
        wrong = by_site[left < 0]
        return int(wrong.min()) if len(wrong) else None
