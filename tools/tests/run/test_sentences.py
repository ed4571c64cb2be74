"""What tls-memtest measure says when something cannot be: one sentence, and no traceback."""

import os
import re

import pytest

from tests.support import forked_command


def test_more_jobs_than_cpus_are_told(project):
    done = project.measure("--list", "--jobs=99999", stacks=project.install("obey"))
    cpus = len(os.sched_getaffinity(0))
    assert done.stderr == f"memtest: JOBS=99999, but this process has {cpus} CPUs: JOBS={cpus}\n"


@pytest.mark.parametrize(("allocator", "told"), [("mimalloc", True), ("system", False)])
def test_heap_runs_that_another_allocator_does_not_get_are_told(project, allocator, told, snapshot):
    done = project.measure("--list", "--heap=all", f"--allocator={allocator}", stacks=project.install("obey"))
    assert done.stderr == (snapshot if told else "")


@pytest.mark.parametrize(("words", "told"), [((), True), (("--window=10",), False)], ids=["default", "given"])
def test_the_window_of_kept_sessions_is_told_where_it_was_not_given(project, words, told, snapshot):
    done = project.measure("--list", "--keep=server", *words, stacks=project.install("obey"), n=2_000)
    assert done.stderr == (snapshot if told else "")


@pytest.mark.thorough
def test_the_last_lines_are_the_answer_and_where_pictures_and_call_stacks_are(project, snapshot):
    done = project.measure("--keep=server", stacks=project.install("obey"), n=20)
    last = done.stdout.splitlines()[-5:]
    assert last == snapshot
    assert all((project.root / name).is_file() for name in re.findall(r"out/[\w.-]+", last[1]))


@pytest.mark.parametrize("words", [["--list"], ["--verify"], ["--heap=0"]])
def test_a_stdout_that_is_full_is_a_sentence(project, words):
    stacks = project.install("obey")
    asked = [f"--stacks={stacks[0]}", "--suites=tls13-rsa-aes256", "--n=2", "--out=out"]
    command = project.command(
        *([] if "--verify" in words else asked), *words, campaign="" if "--verify" in words else "mem"
    )
    with open("/dev/full", "w") as full:
        done = forked_command.run(command, cwd=project.root, stdout=full.fileno())
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "memtest: stdout: No space left on device"
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_a_picture_that_cannot_be_written_is_named(project):
    stacks = project.install("obey")
    (project.root / "out/mem.png").mkdir(parents=True)
    done = project.measure("--heap=0", stacks=stacks, n=2)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.endswith("out/mem.png: cannot draw the pictures: Is a directory")
    assert last.startswith("memtest: ")


@pytest.mark.parametrize(
    "words",
    [
        "--n=7",
        "--out=/proc/nowhere",
        "--out=tools/tls-memtest",
        "--suites=tls13-rsa-aes255",
        "--timeout=soon",
        "--n=100 --window=51",
    ],
)
def test_what_cannot_be_is_one_sentence(project, words, snapshot):
    stacks = project.install("obey")
    done = project.measure(*words.split(), stacks=stacks)
    assert done.returncode in (1, 2)
    assert done.stderr.splitlines()[-1] == snapshot
    assert "Traceback" not in done.stderr
    assert not list(project.root.glob("out/*"))


@pytest.mark.thorough
def test_what_does_not_fit_in_memory_is_one_sentence(project):
    """Its figures are of this machine."""
    done = project.measure("--n=1000000000", stacks=project.install("obey"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "is more than memory holds: obey@1 tls13-rsa-aes256 needs" in done.stderr.splitlines()[-1]
    assert not list(project.root.glob("out/*"))
