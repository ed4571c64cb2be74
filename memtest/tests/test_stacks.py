"""Every TLS harness that is built refuses a server it must not trust, and what else it cannot do."""

import json
import re
import shutil
import subprocess

import pytest
from test_core import NONE, ROOT, run

from tests.support import built_harness
from tlsmem.config.definitions import stacks, suites

CERTS = ROOT / "memtest/certs"
SUITES = {"TLSv1.3": ("tls13-rsa-aes256", "tls13-rsa-aes128"), "TLSv1.2": ("tls12-rsa-aes256",)}
TRIED = sum(SUITES.values(), ())  # the first that a stack does
EXPECTED = {name: stack.expect for name, stack in stacks().items() if stack.tls}
KINDS = {kind: kind.replace(" ", "_") for kind in ("another root", "another name", "another key", "missing file")}


@pytest.fixture(params=built_harness.choose(EXPECTED))
def harness(request):
    return built_harness.find(request.param)


EC, RSA = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), ("rsa:2048",)


def issue(folder, subject, name, *more, key=EC):
    """A key NAME.key and a certificate NAME.pem for it: the root's own, or with `more` another's."""
    command = ["openssl", "req", "-x509", "-newkey", *key, "-nodes"]
    command += ["-subj", f"/CN={subject}", "-days", "7", "-keyout", f"{name}.key", "-out", f"{name}.pem", *more]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def for_host(folder, host):
    """A certificate directory whose leaf is for this host."""
    folder.mkdir()
    issue(folder, "root of a test", "root")
    extensions = f"subjectAltName=DNS:{host}", "basicConstraints=critical,CA:FALSE"
    issuer = "-CA", "root.pem", "-CAkey", "root.key"
    issue(folder, "leaf of a test", "chain", *issuer, "-addext", extensions[0], "-addext", extensions[1])
    (folder / "chain.key").rename(folder / "key.pem")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """The directory with one of each kind."""
    made = tmp_path_factory.mktemp("certs")
    for_host(made / "sound", "localhost")
    for_host(made / "another name", "elsewhere.test")
    shutil.copytree(CERTS / "rsa-2048", made / "another root")
    issue(made / "another root", "another root of a test", "root", key=RSA)  # of the same kind: refused for its name
    shutil.copytree(made / "sound", made / "another key")
    shutil.copy(made / "another name/key.pem", made / "another key")
    return made


def words(name, certs):
    """The suite's arguments with these certificates; in TLS 1.2 their key is part of the cipher's name."""
    suite = suites()[name]
    rsa = certs.name in ("rsa-2048", "another root")
    cipher = suite.cipher if rsa else suite.cipher.replace("ECDHE-RSA", "ECDHE-ECDSA")
    return [f"protocol={suite.protocol}", f"cipher={cipher}", f"group={suite.group}", f"certs={certs}"]


def measure(harness, certs, *more, tried=TRIED):
    """In the first of these suites that the stack does."""
    for name in tried:
        done = run(harness, "memory", "sessions=4", *words(name, certs), *more)
        if done.returncode != 77 or "store" in done.stderr:
            return done
    return done


@pytest.mark.parametrize("certs", ["ecdsa-p256", "rsa-2048", "made here"])
def test_a_sound_server_is_measured_and_verified(harness, certificates, certs):
    done = measure(harness, certificates / "sound" if certs == "made here" else CERTS / certs)
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout.splitlines()[-1])
    assert end["record"] == "end" and end["status"] == "measured"
    assert end["negotiated"]["client_verified"] is True and end["negotiated"]["server_verified"] is False


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", SUITES)
def test_a_server_not_to_be_trusted_fails_the_run_with_a_sentence(harness, certificates, protocol, kind):
    done = measure(harness, certificates / kind, tried=SUITES[protocol])
    if done.returncode == 77:
        pytest.skip(done.stderr)
    own = getattr(EXPECTED[harness.name], KINDS[kind])
    assert done.returncode == 1 and '"record":"end"' not in done.stdout
    assert done.stderr.count("\n") == 1 and sum(said in done.stderr for said in own) == 1, done.stderr


@pytest.mark.parametrize("stack", EXPECTED)
def test_every_stack_has_its_words_for_every_kind(stack):
    assert all(getattr(EXPECTED[stack], key) for key in KINDS.values())


def test_the_suite_of_the_null_stack_is_not_theirs(harness):
    done = run(harness, "memory", "sessions=2", *NONE)
    assert done.returncode == 77 and re.search(r"does TLSv1\.2( and TLSv1\.3)? only", done.stderr), done.stderr


@pytest.mark.parametrize("sessions", [2, 16])
def test_call_stacks_at_a_peak_add_up_to_it(harness, sessions):
    """To the byte, in every phase. With one pair the meter counts the same peak for the role, beside the contexts'."""
    if harness.name.startswith("go@"):
        pytest.skip("Go does not call malloc: it has no sites run")
    found = sites_phases(harness, sessions)
    before = found["contexts"]["heap"]
    for name, phase in found.items():
        for role in "client", "server":
            counted = phase["sites"]["peak_bytes"][role]
            assert sum(one["bytes"] for one in phase["sites"]["peak"] if one["role"] == role) == counted, (name, role)
            if sessions == 2 and name != "contexts":
                assert phase["heap"][role]["peak_bytes"] - before[role]["live_bytes"] == counted, (name, role)
    peaks = [phase["sites"]["peak_bytes"] for phase in found.values()]
    assert all(max(one[role] for one in peaks) > 0 for role in ("client", "server"))


def sites_phases(harness, sessions):
    """The phases of a sites run, in the first suite that the stack does, by name."""
    environment = {"LD_PRELOAD": str(ROOT / "build/core/libheapmeter.so"), "HEAPMETER_SITES": "1"}
    for name in TRIED:
        done = run(harness, "memory", f"sessions={sessions}", *words(name, CERTS / "rsa-2048"), **environment)
        if done.returncode != 77:
            break
    assert done.returncode == 0, done.stderr
    told = [line for line in map(json.loads, done.stdout.splitlines()) if line["record"] == "phase"]
    return {line["phase"]: line for line in told}


def test_a_server_that_keeps_its_sessions_resumes_none_unasked(harness):
    done = measure(harness, CERTS / "ecdsa-p256", "store=on")
    assert done.returncode == 0 or (done.returncode == 77 and "store" in done.stderr), done.stderr


def test_no_fewer_tickets_are_issued_than_were_asked_for(harness):
    most = EXPECTED[harness.name].most_tickets
    if most is None:
        pytest.skip(f"{harness.name} has no such limit, or says so itself")
    done = measure(harness, CERTS / "rsa-2048", f"tickets={most + 1}")
    said = "one ticket" if most == 1 else f"{most} tickets"
    assert done.returncode == 77 and f"issues {said} at most" in done.stderr, done.stderr
