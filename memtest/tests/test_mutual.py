"""Every TLS harness that is built verifies clients where the suite asks for it, and refuses those it must not trust."""

import json
import shutil

import pytest
from test_core import ROOT, run
from test_stacks import EXPECTED, TRIED, harness, words

__all__ = ["harness"]

CERTS = ROOT / "memtest/certs/rsa-2048"
REPLACED = {  # what stands in for a file of the clients' own
    "another root": ("client-root.pem", "root.pem"),
    "another key": ("client-key.pem", "key.pem"),
    "another chain": ("client-chain.pem", "chain.pem"),
}


def measured(stack, certs):
    """Two sessions in the first of these suites that the stack does with mutual authentication."""
    for suite in TRIED:
        done = run(stack, "memory", "sessions=2", *words(suite, certs), "auth=mutual")
        if done.returncode != 77:
            return done
    pytest.skip(f"{stack.name}: {done.stderr.strip()}")


def test_both_ends_are_verified(harness):
    done = measured(harness, CERTS)
    assert done.returncode == 0, done.stderr
    agreed = json.loads(done.stdout.splitlines()[-1])["negotiated"]
    assert (agreed["client_verified"], agreed["server_verified"]) == (True, True)


@pytest.mark.parametrize("kind", sorted(REPLACED))
def test_a_client_that_is_not_to_be_trusted_is_refused(harness, tmp_path, kind):
    certs = tmp_path / "rsa-2048"
    shutil.copytree(CERTS, certs)
    name, instead = REPLACED[kind]
    shutil.copy(certs / instead, certs / name)
    done = measured(harness, certs)
    assert done.returncode == 1
    assert done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1
    assert '"record":"end"' not in done.stdout


@pytest.mark.parametrize("name", ["client-chain.pem", "client-key.pem", "client-root.pem"])
def test_without_a_file_of_the_clients_the_run_says_so(harness, tmp_path, name):
    certs = tmp_path / "rsa-2048"
    shutil.copytree(CERTS, certs)
    (certs / name).unlink()
    done = measured(harness, certs)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    instead = EXPECTED[harness.name].missing_client_key if name == "client-key.pem" else None
    assert (instead or name) in done.stderr
