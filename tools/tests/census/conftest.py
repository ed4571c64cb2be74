"""Programs that hold sessions, and what the census says of them."""

import json
import os
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def compile_c(source, program, *flags):
    subprocess.run(["gcc", "-std=gnu11", "-O1", HERE / source, "-o", program, *flags], check=True)
    return program


@pytest.fixture(scope="package")
def certificate(tmp_path_factory):
    """A certificate and its key, as files."""
    folder = tmp_path_factory.mktemp("certificate")
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout key.pem -out cert.pem"
    subprocess.run(words.split(), cwd=folder, check=True, capture_output=True)
    return [folder / "cert.pem", folder / "key.pem"]


class Holder:
    """A program that holds sessions: `step()` leads to the next one, and gives what malloc has in use then."""

    def __init__(self, words, **variables):
        env = {**os.environ, **variables}
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    @property
    def pid(self):
        return self.process.pid

    def read(self):
        return json.loads(self.process.stdout.readline())

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


@pytest.fixture(scope="package")
def compile_holder(tmp_path_factory):
    """A function that returns the path of the program, compiled with these flags."""

    def compile_program(*flags):
        return compile_c(
            "holds_sessions.c", tmp_path_factory.mktemp("holder") / "holds_sessions", *flags, "-lssl", "-lcrypto"
        )

    return compile_program


@pytest.fixture(scope="package")
def holder_program(compile_holder):
    return compile_holder()
