"""tools/tls-memtest heap when nobody reads what it reports, and when a page that it reads is damaged."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from test_programs import HEAP_ATTACH, HEAP_RUN, METER


def pages_of(pid):
    return Path(f"/dev/shm/heapmeter.{pid}")


def started(*words, command, **streams):
    """heap run with many reports of a command that says its process id and then waits for a line."""
    script = f"echo $$; {command}"
    often = [] if "--once" in words else ["--interval", "0.02"]
    words = [*HEAP_RUN, *often, *words, "--", "sh", "-c", script]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, **streams)


@pytest.mark.parametrize("form", [[], pytest.param(["--json"], marks=pytest.mark.thorough)])
def test_a_command_whose_reports_nobody_reads_is_followed_to_its_end(form):
    ours, theirs = os.pipe()
    with started(*form, command="read line; exit 7", stderr=theirs) as process:
        os.close(theirs)
        pid = int(process.stdout.readline())
        os.close(ours)
        time.sleep(0.3)  # reports that reach nobody
        assert process.poll() is None and pages_of(pid).exists()
        process.communicate(b"\n", timeout=20)
    assert process.returncode == 7 and not pages_of(pid).exists()


@pytest.mark.thorough
def test_signals_still_reach_a_command_whose_reports_nobody_reads():
    ours, theirs = os.pipe()
    command = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done"
    with started(command=command, stderr=theirs) as process:
        os.close(theirs)
        pid = int(process.stdout.readline())
        assert process.stdout.readline() == b"ready\n"
        os.close(ours)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=20) == 9
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert not pages_of(pid).exists()


@pytest.mark.parametrize(
    "form", [[], *(pytest.param([one], marks=pytest.mark.thorough) for one in ("--json", "--once"))]
)
def test_a_full_disk_is_told_once_and_the_command_has_its_status(form):
    with started(*form, "--out", "/dev/full", command="read line; exit 7", stderr=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        time.sleep(0.3)
        said = process.communicate(b"\n", timeout=20)[1].decode()
    told = "memtest: /dev/full: No space left on device; what was to be reported after that is not there\n"
    assert (process.returncode, said) == (7, told) and not pages_of(pid).exists()


@pytest.fixture
def metered():
    """A process under the meter that allocates nothing while it waits."""
    words = ["sh", "-c", "echo; read line"]
    variables = os.environ | {"LD_PRELOAD": str(METER)}
    with subprocess.Popen(words, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()
    pages_of(process.pid).unlink(missing_ok=True)


def test_a_reader_of_a_watched_process_that_goes_ends_the_watch(metered):
    with subprocess.Popen([*HEAP_ATTACH, "--interval", "0.02", str(metered.pid)], stdout=subprocess.PIPE) as watch:
        assert b"live" in watch.stdout.readline()
        watch.stdout.close()
        assert watch.wait(timeout=20) == 1
    assert metered.poll() is None


@pytest.mark.parametrize("size", [0, *(pytest.param(size, marks=pytest.mark.thorough) for size in (100, 4095))])
def test_a_watched_page_that_shrinks_is_a_sentence(metered, size):
    words = [*HEAP_ATTACH, "--interval", "0.02", str(metered.pid)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watch:
        first = watch.stdout.readline()
        os.truncate(pages_of(metered.pid), size)
        out, said = watch.communicate(timeout=20)
    assert watch.returncode == 1 and "lost" in out and "live" in first
    assert said == f"memtest: sh[{metered.pid}]: its page was damaged; what is shown of it is from before that\n"
