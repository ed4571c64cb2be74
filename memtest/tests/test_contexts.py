"""The scenario contexts: exact bytes of contexts, roots and names; that names and roots are what a run verified."""

import json
import shutil
import subprocess

import pytest
from test_core import FAULTY, NONE, ROOT, run

from tests.support import built_harness
from tlsmem.config.scenarios import CONTEXT_SHARING, PHASES
from tlsmem.run import certificates

TLS13 = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519"]
NO_TLS = [word for word in NONE if not word.startswith(("certs=", "auth="))]
SESSION_BYTES, CONTEXT_BYTES, GAINED_BYTES, NAME_BYTES = 4072, 1000, 50, 304  # of null, and of faulty
MANY = ROOT / "build/certs/rsa-2048-many"
SIZED = {"FAULT": "sized contexts"}


@pytest.fixture(scope="session")
def many():
    certificates.make("tls13-rsa-aes256-many", "rsa-2048-many")
    return [f"certs={MANY}"]


@pytest.fixture
def some(many, tmp_path):
    """Some of these files, to be changed."""
    for name in "root.pem", "chain.pem", "key.pem", "cas-10", "names/00001", "names/00002":
        (shutil.copytree if (MANY / name).is_dir() else shutil.copy)(MANY / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def unread(tmp_path):
    """Names for stacks that read no files."""
    for name in range(1, 100):
        (tmp_path / f"names/{name:05d}").mkdir(parents=True)
        (tmp_path / f"names/{name:05d}/chain.pem").touch()
    return [f"certs={tmp_path}"]


def contexts(harness, *arguments, sessions=20, **environment):
    """The finished run under the heap meter."""
    return run(harness, "contexts", f"sessions={sessions}", *arguments, heap=True, **environment)


def phases(harness, *arguments, **options):
    """What was recorded, by phase."""
    done = contexts(harness, *arguments, **options)
    assert done.returncode == 0, done.stderr
    found = {line["phase"]: line for line in map(json.loads, done.stdout.splitlines()) if line["record"] == "phase"}
    assert list(found) == PHASES["contexts"]
    return found


def growth(found, owner, before, after):
    """Live bytes that an owner gained between the ends of two phases."""
    return found[after]["heap"][owner]["live_bytes"] - found[before]["heap"][owner]["live_bytes"]


@pytest.mark.parametrize("sharing", CONTEXT_SHARING)
def test_a_null_session_holds_its_three_blocks_whoever_has_its_context(null, sharing):
    found = phases(null, f"sharing={sharing}", *NONE)
    for role in "client", "server":
        assert growth(found, role, "opened", "established") == 10 * SESSION_BYTES
        assert growth(found, role, "opened", "closed") == 0
    assert growth(found, "total", "library", "freed") == 0


@pytest.mark.parametrize(
    ("sharing", "clients", "servers"), [("shared", 1, 1), ("each-client", 10, 1), ("each-server", 1, 10)]
)
def test_a_context_is_counted_for_its_role_with_what_it_gains(sharing, clients, servers):
    found = phases(FAULTY, f"sharing={sharing}", *NONE, **SIZED)
    for role, number in ("client", clients), ("server", servers):
        assert growth(found, f"{role}_context", "library", "opened") == number * CONTEXT_BYTES
        assert growth(found, role, "library", "opened") == 0
        assert growth(found, role, "opened", "established") == 10 * SESSION_BYTES + number * GAINED_BYTES
        assert growth(found, role, "opened", "closed") == number * GAINED_BYTES
    assert growth(found, "total", "library", "freed") == 0


def test_a_name_is_counted_for_the_servers_context(unread):
    few, more = (phases(FAULTY, f"names={names}", *NO_TLS, *unread, "auth=none", **SIZED) for names in (3, 100))
    for found, names in (few, 3), (more, 100):
        held = CONTEXT_BYTES + (names - 1) * NAME_BYTES  # the first is the one that a context has without names
        assert growth(found, "server_context", "library", "opened") == held
        assert growth(found, "client_context", "library", "opened") == CONTEXT_BYTES


def test_contexts_that_are_not_freed_are_seen():
    found = phases(FAULTY, "sharing=each-client", *NONE, FAULT="loses contexts")
    assert growth(found, "total", "library", "freed") == (10 + 1) * CONTEXT_BYTES


def test_the_harness_adds_nothing_that_grows_with_contexts(null):
    few, many = (phases(null, "sharing=each-client", *NONE, sessions=sessions) for sessions in (20, 2000))
    for phase in PHASES["contexts"]:
        assert few[phase]["heap"]["harness"]["live_bytes"] == many[phase]["heap"]["harness"]["live_bytes"]


def test_a_run_says_its_settings(null):
    done = contexts(null, "sharing=each-client", *NONE)
    assert json.loads(done.stdout.splitlines()[0])["settings"] == {"cas": "1", "names": "1", "sharing": "each-client"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["sharing=some"], "memtest: sharing=some: must be shared, each-client or each-server\n"),
        (["cas=0"], "memtest: cas=0: must be a whole number from 1 to 1000000000\n"),
        (["names=100001"], "memtest: names=100001: must be a whole number from 1 to 100000\n"),
        (["threads=2"], "memtest: threads=2: is no key of the scenario contexts\n"),
        (
            ["names=2", "sharing=each-server"],
            "memtest: names= of more than one needs one server context: sharing=shared or each-client\n",
        ),
        (
            ["cas=10", "auth=mutual"],
            "memtest: cas= of more than one is not of auth=mutual: clients have their certificates elsewhere\n",
        ),
        (["names=2", "auth=mutual"], "memtest: names= of more than one is not of auth=mutual\n"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(arguments, sentence):
    done = contexts(FAULTY, *NONE, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", sentence)


@pytest.mark.parametrize(
    ("key", "auth", "missing"),
    [("cas=11", "server", "cas-11/root.pem"), ("names=101", "none", "names/00100/chain.pem")],
)
def test_a_store_or_a_name_that_is_not_there_is_named(unread, key, auth, missing):
    done = contexts(FAULTY, key, *NO_TLS, *unread, f"auth={auth}", **SIZED)
    assert done.returncode == 1
    assert f"{missing}: there is no such file; memtest/certs/make_many.py makes those that there can be" in done.stderr


def test_a_stack_that_serves_one_name_is_unsupported(null, unread):
    done = contexts(null, "names=3", *NO_TLS, *unread, "auth=none")
    assert done.returncode == 77
    assert "this driver serves one name" in json.loads(done.stdout.splitlines()[-1])["reason"]


def test_a_store_of_roots_is_unsupported_where_clients_verify_nobody(program):
    done = run(program, "contexts", "sessions=20", "cas=10", *NONE)
    assert done.returncode == 77
    assert "clients verify nobody" in json.loads(done.stdout.splitlines()[-1])["reason"]


def test_openssl_holds_a_whole_store_for_each_context(openssl, many):
    one, ten, bundle = (phases(openssl, "sharing=each-client", f"cas={roots}", *TLS13, *many) for roots in (1, 10, 150))
    held = [growth(found, "client_context", "library", "opened") for found in (one, ten, bundle)]
    assert held == [10 * 17_881, 10 * 59_061, 10 * 701_803]


def test_rustls_holds_the_anchors_of_each_context(rustls, many):
    one, bundle = (phases(rustls, "sharing=each-client", f"cas={roots}", *TLS13, *many) for roots in (1, 150))
    assert growth(one, "client_context", "library", "opened") == 10 * 1_678
    assert growth(bundle, "client_context", "library", "opened") == 10 * 88_705


@pytest.mark.thorough
def test_of_a_name_the_call_stacks_have_all_that_it_holds(openssl, many):
    done = run(openssl, "contexts", "sessions=20", "names=100", *TLS13, *many, heap=True, HEAPMETER_SITES="1")
    found = {line["phase"]: line for line in map(json.loads, done.stdout.splitlines()) if line["record"] == "phase"}
    sites = [live for live in found["opened"]["sites"]["live"] if live["role"] == "server context"]
    assert sum(live["bytes"] for live in sites) == 24_383
    few, more = (phases(openssl, f"names={names}", *TLS13, *many) for names in (100, 101))
    assert (
        growth(more, "server_context", "library", "opened") - growth(few, "server_context", "library", "opened")
        == 24_383
    )


def test_a_client_that_is_given_the_certificate_of_another_name_refuses(openssl, some):
    shutil.copy(some / "names/00001/chain.pem", some / "names/00002/chain.pem")
    done = contexts(openssl, "names=3", *TLS13, f"certs={some}")
    assert done.returncode == 1
    assert "hostname mismatch" in done.stderr


def test_rustls_does_not_take_the_certificate_of_another_name(rustls, some):
    shutil.copy(some / "names/00001/chain.pem", some / "names/00002/chain.pem")
    done = contexts(rustls, "names=3", *TLS13, f"certs={some}")
    assert done.returncode == 77
    assert "does not take a certificate for a name: name-00002.example" in done.stderr


def test_a_store_without_the_servers_root_verifies_nobody(openssl, some):
    store = some / "cas-10/root.pem"
    store.write_text(store.read_text().partition("-----END CERTIFICATE-----\n")[2])  # the first is the servers'
    done = contexts(openssl, "cas=10", *TLS13, f"certs={some}")
    assert done.returncode == 1
    assert "unable to get local issuer certificate" in done.stderr


def test_a_store_that_a_stack_does_not_take_is_unsupported_with_its_words(openssl, some):
    (some / "cas-10/root.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    done = contexts(openssl, "cas=10", *TLS13, f"certs={some}")
    assert done.returncode == 77
    assert "does not take this many trusted roots" in json.loads(done.stdout.splitlines()[-1])["reason"]


NAMING = {  # stacks whose servers have several certificates, and what a client says that is given another's
    "boringssl@5.4.0": "Hostname mismatch",
    "awslc@5.12.0": "Hostname mismatch",
    "s2n+awslc@0.3.47": "not valid for the supplied hostname",
    "gnutls@3.8.9": "does not match",
    "mbedtls@3.6.6": "does not match with the expected CN",
    "wolfssl+server@5.9.4": "mismatch",
}


@pytest.mark.parametrize("stack", NAMING)
def test_a_server_has_a_certificate_for_each_name_and_clients_look_at_the_name(stack, some):
    harness = built_harness.find(stack)
    few, more = (phases(harness, f"names={names}", *TLS13, f"certs={some}") for names in (2, 3))
    assert growth(more, "server_context", "library", "opened") > growth(few, "server_context", "library", "opened")
    shutil.copy(some / "names/00001/chain.pem", some / "names/00002/chain.pem")
    done = contexts(harness, "names=3", *TLS13, f"certs={some}")
    assert done.returncode == 1
    assert NAMING[stack] in done.stderr


DRIVERS_BLOCK = 24  # struct openssl_context


@pytest.mark.parametrize(("roots", "store"), [(1, "root.pem"), (150, "cas-150/root.pem")])
def test_openssls_own_memory_hooks_count_the_same(many, roots, store):
    harness = built_harness.find("openssl@system")
    subprocess.run(["make", "-s", "build/tests/one_context"], cwd=ROOT, check=True)
    found = phases(harness, "sharing=each-client", f"cas={roots}", *TLS13, *many)
    held = growth(found, "client_context", "library", "opened") // 10
    program = [ROOT / "build/tests/one_context", MANY / store]
    assert held == int(subprocess.check_output(program)) + DRIVERS_BLOCK
    shared = int(subprocess.check_output([*program, "shared"]))
    assert shared < 13_000 < held  # whatever the store has
