"""What a sentence suggests for a name that is not known."""

import pytest

from tlsmem.base.nearest import suggest_nearest


@pytest.mark.parametrize(
    ("name", "known", "suggestion"),
    [
        ("nonsense", ["none", "tls13-rsa-aes256"], ""),  # its letters are in it by chance
        ("non", ["none"], "; did you mean none?"),
        ("gho", ["go"], "; did you mean go?"),
        ("OPENSSL", ["openssl", "rustls"], "; did you mean openssl?"),
        ("Client", ["client", "server"], "; did you mean client?"),
    ],
)
def test_a_name_is_suggested_where_it_is_near_whatever_its_capitals(name, known, suggestion):
    assert suggest_nearest(name, known) == suggestion
