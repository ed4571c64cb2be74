"""A run in which memory was refused is no measurement, and says why."""

import subprocess

import pytest
from test_core import FAULTY, METER, NONE, ROOT, run
from test_two_processes import RSA, built

# Verification as it ends in OpenSSL when memory is refused: below 1, and the chain is not judged.
UNDECIDED = "int X509_verify_cert(void *context) { (void)context; return -1; }"


CALLS = {"openssl@3.5.5": range(2000, 17000, 1500), "rustls+aws-lc@0.23.46": range(50, 800, 75)}
REFUSED = "(allocations that were refused memory before: {})\n"


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A library that refuses the allocation FAIL_AT."""
    library = tmp_path_factory.mktemp("failing") / "failing.so"
    source = ROOT / "memtest/tests/failing.c"
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.parametrize("heap", [False, True])
@pytest.mark.parametrize("arguments", [[], ["until=client 1"], ["threads=2"]])
def test_a_stack_that_goes_on_without_memory_is_not_measured(heap, arguments):
    """Of 16 EiB, which the heap meter refuses by itself."""
    done = run(FAULTY, "memory", "sessions=20", *NONE, *arguments, heap=heap, FAULT="goes on without memory")
    assert done.returncode == 1 and '"record":"end"' not in done.stdout
    assert "went on although memory was refused: no figure is that of a whole session" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("order", ["without a meter", "above the meter", "below the meter"])
@pytest.mark.parametrize("stack", ["openssl@3.5.5", "rustls+aws-lc@0.23.46"])
def test_no_run_is_measured_in_which_an_allocation_failed(failing, stack, order):
    """Calls from contexts to payloads. Libraries swallow some, and take others for something else that is wrong."""
    harness = built(stack)
    preloads = {"without a meter": [failing], "above the meter": [failing, METER], "below the meter": [METER, failing]}
    preloaded = " ".join(map(str, preloads[order]))
    for call in CALLS[stack]:
        done = run(harness, "memory", "sessions=2", *RSA["tls13"], LD_PRELOAD=preloaded, FAIL_AT=str(call))
        assert done.returncode not in (0, 77), call
        if done.returncode == 1:  # Rust's own allocator ends the process by itself
            assert done.stderr.endswith(REFUSED.format(1)), (call, done.stderr)


@pytest.fixture
def undecided(tmp_path):
    library = tmp_path / "undecided.so"
    command = ["gcc", "-shared", "-fPIC", "-o", library, "-xc", "-"]
    subprocess.run(command, input=UNDECIDED, text=True, check=True)
    return str(library)


@pytest.mark.parametrize("suite", RSA)
def test_verification_without_memory_is_not_said_to_be_fine(undecided, suite):
    harness = built("openssl@system")  # whose X509_verify_cert can be another's
    done = run(harness, "memory", "sessions=2", *RSA[suite], LD_PRELOAD=undecided)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert done.stderr.endswith("handshake: the peer's chain: no verdict, as when memory is out\n")


PROBED = range(8340, 8400)  # calls of openssl@3.5.5 around those that set group and cipher of a context made to ask


@pytest.mark.slow
def test_no_failed_allocation_is_taken_for_what_the_library_cannot_do(failing):
    harness = built("openssl@3.5.5")
    suite = ["sessions=2", "aslr=on", *RSA["tls13"]]
    found = {call: run(harness, "memory", *suite, LD_PRELOAD=str(failing), FAIL_AT=str(call)) for call in PROBED}
    assert [call for call, done in found.items() if done.returncode != 1] == []
