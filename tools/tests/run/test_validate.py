"""What a measured run must say of its environment, and how a process ended."""

from types import SimpleNamespace

import pytest

from tlsmem.config.run import SYSTEM, THREADS, Run
from tlsmem.run.validate import compare_deployment, describe_exit


def wrong(env: str, thp_host: str, thp: str) -> list[str]:
    run = Run("openssl@3.5.5", "tls13-rsa-aes256", SYSTEM, "all", 20, "rss", 1, env=env)
    said = SimpleNamespace(threads=THREADS if env != "lab" else 1, aslr="on", thp=thp)
    return [name for name, asked, answered in compare_deployment(run, said, thp_host) if asked != answered]


@pytest.mark.parametrize(
    ("env", "thp_host", "thp", "differ"),
    [
        ("deployed", "madvise", "madvise", []),
        ("deployed", "madvise", "always", ["thp"]),  # another has changed it meanwhile
        ("deployed", "none", "never", []),  # a kernel without them
        ("deployed-thp", "madvise", "always", []),
        ("deployed-thp", "madvise", "madvise", ["thp"]),
        ("lab", "madvise", "never", []),  # could not be switched off: a note
    ],
)
def test_huge_pages_must_be_the_hosts_own_or_always(env, thp_host, thp, differ):
    assert wrong(env, thp_host, thp) == differ


@pytest.mark.parametrize(
    ("status", "said"),
    [(1, "exit 1"), (-11, "killed by SIGSEGV"), (-34, "killed by SIGRTMIN"), (-40, "killed by signal 40")],
)
def test_every_end_has_a_name(status, said):
    assert describe_exit(status) == said
