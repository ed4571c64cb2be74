"""A server built from source on a stack's library: a small one, on a library that needs another of the system."""

import io
import subprocess
import tarfile

import pytest

from tests.build.test_harness import root, tiny  # noqa: F401  (root is a fixture)
from tlsmem.build import server_program, sources
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import Source
from tlsmem.config.servers import Server, ServerBuild

STACK = "openssl@1.2.3"
SERVER_C = """\
#include <math.h>
#include <stdio.h>
#include "tiny.h"
int main(void) { tiny(); printf("server 1\\nbuilt on OpenSSL %s\\n", VERSION); return 0; }
"""
STEPS = [
    "cp {source}/server.c .",
    "gcc {cflags} {options} -Ilibrary/include server.c -Llibrary/lib -ltiny -o made",
]


@pytest.fixture
def library(root, monkeypatch):  # noqa: F811
    """The stack: libtiny.a calls libm, which its table has in `link`."""
    steps = [
        "cp {source}/tiny.c .",
        "mkdir include",
        "cp {source}/tiny.h include",
        "gcc -Iinclude -c tiny.c -o tiny.o",
        "ar rcD libtiny.a tiny.o",
    ]
    crate(
        root,
        "tiny-src-1.2.3",
        {
            "tiny.c": "#include <math.h>\nvolatile double x = 2;\nvoid tiny(void) { x = lgamma(x); }\n",
            "tiny.h": "void tiny(void);\n",
        },
    )
    stack = tiny(root, steps, include=["include"], link=["-lm"])
    monkeypatch.setattr(server_program, "stacks", lambda: {STACK: stack})
    monkeypatch.setattr("tlsmem.build.c_stack.stacks", lambda: {STACK: stack})
    return root


def crate(root, name, files):  # noqa: F811
    """Put a crate into cargo's cache."""
    file = root / f"cargo/registry/cache/somewhere/{name}.crate"
    with tarfile.open(file, "w") as archive:  # uncompressed: the same bytes each time
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}/upstream/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return file


def server(root, version="1.2.3", steps=STEPS, **more):  # noqa: F811
    file = crate(root, "server-src-1.0.0", {"server.c": SERVER_C})
    source = Source(crate="server-src", version="1.0.0", sha256=sources.sha256(file), tree="upstream")
    how = {
        "source": source,
        "program": "made",
        "steps": list(steps),
        "asked": "-v",
        "says": "^built on (.+)$",
        "on": {"openssl": f'-DVERSION="{version}"'},
    }
    return Server(
        what="Tiny",
        version="1",
        libraries=["openssl"],
        releases=[],
        tickets="library",
        phase="blocked",
        build=ServerBuild(**how | more),
        sources=["none"],
    )


@pytest.mark.thorough
def test_a_server_is_linked_with_the_library_and_what_that_needs_and_is_built_once(library):
    program = server_program.provide_server("tiny", server(library), STACK, library)
    assert program == library / f"build/servers/tiny-1.0.0/{STACK}/made"
    first = program.stat().st_mtime_ns
    assert server_program.ask_library(server(library), STACK, program) == "OpenSSL 1.2.3"
    assert server_program.provide_server("tiny", server(library), STACK, library).stat().st_mtime_ns == first
    server_program.provide_server("tiny", server(library, version="1.2.4"), STACK, library)
    assert program.stat().st_mtime_ns != first


@pytest.mark.thorough
def test_no_path_of_the_clone_is_in_the_program(library):
    program = server_program.provide_server("tiny", server(library), STACK, library)
    assert str(library).encode() not in program.read_bytes()


@pytest.mark.thorough
def test_a_server_that_runs_on_another_release_is_refused(library):
    other = server(library, version="3.0.19")
    program = server_program.provide_server("tiny", other, STACK, library)
    with pytest.raises(BuildFailed, match=r"it runs on OpenSSL 3\.0\.19, and was built on openssl@1\.2\.3"):
        server_program.ask_library(other, STACK, program)
    silent = server(library, says="^runs on (.+)$")
    with pytest.raises(BuildFailed, match="does not say what library it runs on"):
        server_program.ask_library(silent, STACK, program)


@pytest.mark.thorough
def test_a_step_that_fails_names_its_log_and_leaves_no_program(library):
    with pytest.raises(BuildFailed, match=r"(?s)tiny on openssl@1\.2\.3: step 2 of 2.*The whole log: "):
        server_program.provide_server("tiny", server(library, steps=[*STEPS[:1], "false"]), STACK, library)
    with pytest.raises(BuildFailed, match="its steps make no made"):
        server_program.provide_server("tiny", server(library, steps=STEPS[:1]), STACK, library)
    assert server_program.provide_server("tiny", server(library), STACK, library).is_file()


@pytest.mark.parametrize(
    ("said", "stack", "fits"),
    [
        ("OpenSSL 3.5.5 27 Jan 2026", "openssl@3.5.5", True),
        ("OpenSSL 3.0.19 27 Jan 2026", "openssl@3.5.5", False),
        ("AWS-LC FIPS 5.12.0", "awslc@5.12.0", True),
        ("AWS-LC 1.36.1", "awslc@5.12.0", False),
        ("BoringSSL", "boringssl@5.4.0", True),
        ("OpenSSL 1.1.1 (compatible; BoringSSL)", "boringssl@5.4.0", True),
        ("OpenSSL 3.5.5 27 Jan 2026", "boringssl@5.4.0", False),
        ("wolfSSL 5.9.4", "wolfssl+haproxy@5.9.4", True),
    ],
)
def test_the_library_in_a_servers_words_is_the_stacks(said, stack, fits):
    assert server_program.is_library(said, stack) is fits


def test_a_program_that_is_gone_is_a_sentence(library):
    with pytest.raises(BuildFailed, match="cannot be run: No such file"):
        server_program.ask_library(server(library), STACK, library / "nowhere")


@pytest.mark.thorough
def test_an_archive_is_a_linker_script_that_brings_what_it_needs(library):

    program = server_program.provide_server("tiny", server(library), STACK, library)
    script = program.parent / "library/lib/libtiny.a"
    assert script.read_text() == "INPUT(-ltiny_archive -lm)\n"
    subprocess.run([program], check=True, capture_output=True)
