"""What the two sides of a comparison are called in headings."""

import pytest

from tlsmem.compare.side_names import shorten_names

SHORT = {
    ("openssl@3.4.1", "openssl@3.5.5"): ("3.4.1", "3.5.5"),
    ("openssl@3.5.5", "boringssl@5.4.0"): ("openssl@3.5.5", "boringssl@5.4.0"),
    ("system", "jemalloc"): ("system", "jemalloc"),
    ("openssl@git-1355 (good)", "openssl@git-ec64 (HEAD)"): ("good", "HEAD"),
    ("data/2026-01-31-some-cpu", "data/2026-02-28-some-cpu/"): ("2026-01-31", "2026-02-28"),
    ("data/2026-01-31-some-cpu", "data/2026-02-28-other"): ("2026-01-31-some-cpu", "2026-02-28-other"),
    ("a/runs", "b/runs"): ("OLD", "NEW"),
    ("runs", "runs"): ("OLD", "NEW"),
}


@pytest.mark.parametrize("labels", SHORT, ids=" ".join)
def test_a_side_is_called_what_tells_it_from_the_other(labels):
    assert shorten_names(labels) == SHORT[labels]
