"""What a server keeps of closed sessions: entries whose size and number are known."""

import pytest

from tests.support.synthetic_store import PAIRS, WAVES, store
from tlsmem.stats.missing import Missing
from tlsmem.topics.resumption.stores import find_stores, rank_stores


def found(**given):
    """The one store of a run."""
    (made,) = find_stores([store(**given)])
    return made


@pytest.mark.parametrize(("most", "waves"), [(20_480, 42), (256, 12), (50, 12), (8, 12)])
def test_a_full_store_has_as_many_entries_as_it_holds(most, waves):
    pairs = 512 if most > 1000 else PAIRS if most > 50 else 2 if most > 8 else 1
    made = found(most=most, waves=waves, pairs=pairs)
    assert (made.entry_bytes, made.entry_blocks, made.entries_each_session) == (952, 2, 2)
    if made.sessions[-1] * 2 < most:  # the waves end before it is full
        assert made.most_entries == Missing(f"still growing after {made.sessions[-1]:,} sessions")
        return
    assert made.most_entries == most
    assert 2 * made.sessions_until_full >= most - 2 > 2 * (made.sessions_until_full - pairs)


def test_without_an_end_it_is_said_after_how_many_sessions():
    made = found()
    assert made.most_entries == Missing(f"still growing after {PAIRS * WAVES} sessions")
    assert made.entry_bytes == 952 and not made.is_full


def test_a_table_that_doubles_is_no_entry_and_counts_at_the_end():
    made = found(entry=(192, 3), most=256)
    assert (
        made.most_entries == found(entry=(192, 3), most=256).most_entries == Missing("still growing after 120 sessions")
    )
    made = found(entry=(192, 3), most=100)
    assert (made.entry_bytes, made.most_entries) == (192, 100)
    assert made.last_bytes == 98 * 192 + 64 * (98).bit_length()


def test_in_tls_12_a_session_is_one_entry():
    made = found(protocol="TLSv1.2", most=50, pairs=20)
    assert (made.entries_each_session, made.most_entries, made.sessions_until_full) == (1, 50, 60)


def test_a_byte_more_in_each_entry_is_seen():
    assert found(entry=(953, 2)).entry_bytes == 953


def test_what_leaves_nothing_on_the_heap_has_no_entry():
    made = found(entry=(0, 0))
    assert made.entry_bytes == made.most_entries == Missing("nothing is left on the heap when a session is closed")
    assert not rank_stores([made])


def test_the_run_with_most_sessions_counts_and_the_largest_store_is_first():
    runs = [store(most=8, pairs=2), store(waves=20), store(stack="rustls+aws-lc@0.23.46", most=100, entry=(192, 3))]
    ranked = rank_stores(find_stores(runs))
    assert [(one.stack, one.sessions[-1]) for one in ranked] == [("openssl@3.5.5", 200), ("rustls+aws-lc@0.23.46", 120)]


def test_a_store_that_is_full_within_a_wave_tells_its_entries_in_smaller_waves():
    """Counted by sessions of the first wave, 50 entries would be 60, of fewer bytes each."""
    large = store(most=50, pairs=60, protocol="TLSv1.2")
    (alone,) = find_stores([large])
    words = "full within a wave of 60 sessions; smaller waves show its entries"
    assert alone.entry_bytes == alone.most_entries == alone.sessions_until_full == Missing(words)
    (both,) = find_stores([large, store(most=50, pairs=4, waves=20, protocol="TLSv1.2")])
    assert (both.entry_bytes, both.entry_blocks, both.most_entries, both.sessions_until_full) == (952, 2, 50, 52)
    assert (both.run, both.last_bytes) == (large, alone.last_bytes)


def test_a_block_of_the_table_is_no_entry():
    """BoringSSL's store of 20,480 has one block more than its entries: the table, once sessions have enlarged it."""
    made = found(most=50, pairs=4, waves=20, protocol="TLSv1.2", table_blocks=1)
    assert made.blocks[-1] == 49 * 2 + 1 and made.most_entries == 50
