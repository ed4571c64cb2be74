"""A cluster that others can reach without TLS has a warning: whom you must trust. These tests need no Dask."""

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.cli.cluster_connection import describe_exposure


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://node.example:8786", "tcp://[fd00::1]:8786"])
def test_an_open_address_says_whom_you_must_trust_and_which_page_has_more(address):
    said = describe_exposure(address)
    assert said.startswith(f"{address} has no TLS, so you must trust everyone who can reach it") and "\n" not in said
    page = said.rpartition("(")[2].removesuffix(")")
    assert "## Whom you must trust" in (ROOT / page).read_text()


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:8786", "tls://10.0.0.1:8786"]
)
def test_what_others_cannot_reach_or_not_without_the_certificate_has_no_warning(address):
    assert describe_exposure(address) is None
