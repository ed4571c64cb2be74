"""Every TLS harness that is built, as a server that requires it, verifies its clients and refuses another root's."""

import json
import shutil
import subprocess

import pytest
from test_core import ROOT, run

from definitions import stacks, suites

SUITES = ("tls12-ecdsa-aes256-mutual", "tls13-ecdsa-aes256-mutual")
CERTS = ROOT / "memtest/certs/ecdsa-p256"


@pytest.fixture(params=[name for name, stack in stacks().items() if stack.tls])
def harness(request):
    built = ROOT / "build/harness" / request.param
    if not built.is_file():
        pytest.skip(f"{request.param} is not built: tools/build.py {request.param}")
    return built


@pytest.fixture(scope="module")
def another_root(tmp_path_factory):
    """The clients' root is another, of the same name: so a client that goes by names sends its chain all the same."""
    folder = tmp_path_factory.mktemp("certs") / "another root"
    shutil.copytree(CERTS, folder)
    told = ["openssl", "x509", "-in", CERTS / "client-root.pem", "-noout", "-subject", "-nameopt", "compat"]
    subject = subprocess.run(told, check=True, capture_output=True, text=True).stdout.strip().removeprefix("subject=")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "7"]
    made += ["-subj", subject, "-keyout", folder / "root.key", "-out", folder / "client-root.pem"]
    subprocess.run(made, check=True, capture_output=True)
    return folder


def measure(harness, name, certs):
    suite = suites()[name]
    words = [f"protocol={suite.protocol}", f"cipher={suite.cipher}", f"group={suite.group}", f"auth={suite.auth}"]
    done = run(harness, "memory", "sessions=4", *words, f"certs={certs}")
    if done.returncode == 77:
        pytest.skip(done.stderr)
    return done


@pytest.mark.parametrize("suite", SUITES)
def test_both_ends_are_verified(harness, suite):
    done = measure(harness, suite, CERTS)
    assert done.returncode == 0, done.stderr
    agreed = json.loads(done.stdout.splitlines()[-1])["negotiated"]
    assert agreed["client_verified"] is True and agreed["server_verified"] is True


@pytest.mark.parametrize("suite", SUITES)
def test_a_client_of_another_root_fails_the_run_with_a_sentence(harness, another_root, suite):
    done = measure(harness, suite, another_root)
    assert done.returncode == 1 and '"record":"end"' not in done.stdout, done.stdout[-300:]
    assert done.stderr.startswith("memtest: ") and done.stderr.count("\n") == 1, done.stderr
    assert "did not verify" not in done.stderr  # which is the core's word where the library took the client
