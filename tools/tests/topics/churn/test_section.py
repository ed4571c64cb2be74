"""The section of waves: its warnings, and which recording it is of."""

from tests.report.test_pictures import read
from tests.support import synthetic
from tests.support.synthetic_churn import churn
from tlsmem.topics.churn import section as churn_section

MIB = 1 << 20
STEEP = [20 * MIB + wave * MIB // 2 for wave in range(20)]


def test_growing_heap_is_a_warning_and_growing_rss_is_named(tmp_path):
    leak = [64 * wave for wave in range(20)]
    section = churn_section.section(read(tmp_path, [churn(leak, STEEP, meter) for meter in ("rss", "heap")]))
    assert "Warning: live heap of openssl@3.5.5 (server, waves, glibc) grows by 64 B a wave." in section.html
    assert "openssl@3.5.5 in 1 of 2 settings, by up to 524,288 B a wave (server, waves, glibc)" in section.html
    assert "waves: all sessions end with their wave" in section.html
    assert len(section.tables[0].table.rows) == 2 and not section.pictures


def test_rss_that_grows_by_no_more_than_live_heap_is_not_named(tmp_path):
    """The warning of live heap says it all: each byte that is resident is one of a block that is live."""
    section = churn_section.section(read(tmp_path, [churn(STEEP, STEEP, meter) for meter in ("rss", "heap")]))
    assert "grows by 524,288 B a wave" in section.html
    assert "RSS grows" not in section.html


def test_several_allocators_have_a_picture(tmp_path):
    runs = [churn([0] * 20, STEEP, "rss", pattern="lifetimes", allocator=name) for name in ("system", "mimalloc")]
    section = churn_section.section(read(tmp_path, runs))
    assert [one.name for one in section.pictures] == ["churn"]


def test_recordings_without_waves_have_no_section(tmp_path):
    assert churn_section.section(read(tmp_path, [synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 100)])) is None


def test_what_a_store_of_sessions_keeps_is_no_leak(tmp_path):
    run = churn([64 * wave for wave in range(20)], STEEP, "heap")
    argv = [*(word for word in run.argv if not word.startswith("store=")), "store=on"]
    assert churn_section.section(read(tmp_path, [run.model_copy(update={"argv": argv})])) is None


def test_a_later_recording_of_one_stack_does_not_hide_the_others(tmp_path):
    go, openssl = churn([0] * 20, STEEP, "rss", stack="go@1.27.4"), churn([0] * 20, STEEP, "rss")
    section = churn_section.section(read(tmp_path, [go], [openssl, go]))
    later, earlier = (shown.table for shown in section.tables)
    assert later.name != earlier.name
    assert [{row[0].text for row in table.rows} for table in (later, earlier)] == [{"go@1.27.4"}, {"openssl@3.5.5"}]
