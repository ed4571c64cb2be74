"""Every TLS harness that is built resumes its sessions, by what its library has, and never something in between."""

import json

import pytest
from test_core import run
from test_stacks import CERTS, EXPECTED, SUITES, harness, words
from test_timed import lines

__all__ = ["harness"]

KINDS = {
    ("TLSv1.2", "id"): ["store=on", "tickets=0"],
    ("TLSv1.2", "ticket"): ["tickets=1"],
    ("TLSv1.3", "id"): ["store=on", "tickets=1"],
    ("TLSv1.3", "ticket"): ["tickets=1"],
}


def handshakes(stack, protocol, *more):
    """In the first of the protocol's suites that the stack does."""
    for suite in SUITES[protocol]:
        done = run(stack, "handshake", "rounds=12", "threads=2", *words(suite, CERTS / "rsa-2048"), *more)
        if done.returncode != 77:
            return done
    return done


@pytest.mark.parametrize("auth", ["mutual", "server"])
@pytest.mark.parametrize("protocol, kind", sorted(KINDS))
def test_every_handshake_is_resumed_or_the_library_lacks_it(harness, protocol, kind, auth):
    full = handshakes(harness, protocol)
    if full.returncode == 77:
        pytest.skip(full.stderr)
    switched_on = {key for key, _, value in (word.partition("=") for word in KINDS[protocol, kind]) if value != "0"}
    expected = EXPECTED[harness.name]
    refused = expected.refusal_of(frozenset({protocol, auth, "resume"} | switched_on))
    done = handshakes(harness, protocol, f"auth={auth}", "resume=on", *KINDS[protocol, kind])
    if expected.refuses is None and done.returncode == 77:
        pytest.skip(done.stderr)  # what the machine's own library can do is not known beforehand
    assert done.returncode == (77 if refused else 0), done.stderr
    if done.returncode == 0:
        _, threads = lines(done)
        assert [thread.resumed for thread in threads] == [thread.rounds for thread in threads]
        assert json.loads(done.stdout.splitlines()[-1])["negotiated"]["resumed"] is True
