"""Every TLS harness that is built refuses a server it must not trust, and what else it cannot do."""

import json
import shutil
import subprocess

import pytest
from test_core import NONE, ROOT, run

from definitions import stacks

CERTS = ROOT / "memtest/certs"
TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_128_GCM_SHA256", "group=X25519"]  # the cipher of old BoringSSL
REFUSED = {  # by OpenSSL, by rustls, by rustls 0.22, whose server does not look at its key; by wolfSSL, by Mbed TLS,
    # by GnuTLS, by s2n
    "another root": (
        "unable to get local issuer certificate",
        "invalid peer certificate",
        "ASN no signer error",
        "not correctly signed by the trusted CA",
        "certificate issuer is unknown",
        "Certificate is untrusted",
    ),
    "another name": (
        "hostname mismatch",
        "Hostname mismatch",  # OpenSSL 1.1.1, BoringSSL, AWS-LC
        "error number 62",  # all that LibreSSL 3.1 has for it
        "certificate not valid for name",
        "NotValidForName",
        "peer subject name mismatch",
        "does not match with the expected CN",
        "name in the certificate does not match",
        "not valid for the supplied hostname",
    ),
    "another key": (
        "key values mismatch",
        "KEY_VALUES_MISMATCH",  # BoringSSL, AWS-LC
        "KeyMismatch",
        "peer certificate: BadSignature",
        "verify problem based on signature",
        "is not the key of chain.pem",
        "given key do not match",
        "private key do not match",
    ),
    "missing": (
        "No such file",
        "No such file",
        "Input/output error on file",
        "Read/write of file failed",
        "Error while reading file",
    ),
}


@pytest.fixture(params=[name for name in stacks() if not name.startswith("null@")])
def harness(request):
    built = ROOT / "build/harness" / request.param
    if not built.is_file():
        pytest.skip(f"{request.param} is not built: tools/build.py {request.param}")
    return built


def issue(folder, subject, name, *more):
    """A key NAME.key and a certificate NAME.pem for it: the root's own, or with `more` another's."""
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
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
    shutil.copy(CERTS / "ecdsa-p256/root.pem", made / "another root")
    shutil.copytree(made / "sound", made / "another key")
    shutil.copy(made / "another name/key.pem", made / "another key")
    return made


def tls12(certs):
    key = "RSA" if certs.name in ("rsa-2048", "another root") else "ECDSA"
    return ["protocol=TLSv1.2", f"cipher=ECDHE-{key}-AES256-GCM-SHA384", "group=X25519"]


def measure(harness, certs, *more):
    """In TLS 1.3, or in TLS 1.2 where the stack has no other."""
    done = run(harness, "memory", "sessions=4", *TLS13, f"certs={certs}", *more)
    if done.returncode == 77 and not more:
        return run(harness, "memory", "sessions=4", *tls12(certs), f"certs={certs}")
    return done


@pytest.mark.parametrize("certs", ["ecdsa-p256", "rsa-2048", "made here"])
def test_a_sound_server_is_measured_and_verified(harness, certificates, certs):
    done = measure(harness, certificates / "sound" if certs == "made here" else CERTS / certs)
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout.splitlines()[-1])
    assert end["record"] == "end" and end["status"] == "measured"
    assert end["negotiated"]["client_verified"] is True and end["negotiated"]["server_verified"] is False


@pytest.mark.parametrize("kind", REFUSED)
def test_a_server_not_to_be_trusted_fails_the_run_with_a_sentence(harness, certificates, kind):
    done = measure(harness, certificates / kind)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and any(reason in done.stderr for reason in REFUSED[kind])
    assert '"record":"end"' not in done.stdout


def test_the_suite_of_the_null_stack_is_not_theirs(harness):
    done = run(harness, "memory", "sessions=2", *NONE)
    assert done.returncode == 77 and "does TLSv1.2 and TLSv1.3 only" in done.stderr


def test_rustls_does_not_keep_sessions_it_would_resume(harness):
    done = measure(harness, CERTS / "ecdsa-p256", "store=on")
    if harness.name.startswith("rustls"):
        assert done.returncode == 77 and "store=on: with a store a rustls client would resume" in done.stderr
    else:
        assert done.returncode == 0 or (done.returncode == 77 and "TLSv1.3" in done.stderr), done.stderr
