"""Servers of memtest/live_servers.toml: a table as the server of a live run."""

import os
import pwd
import resource
import shutil
import subprocess
from pathlib import Path

from tlsmem.config.live_servers import LiveServer, live_servers
from tlsmem.live.applications import find_application
from tlsmem.live.servers import (
    BACKEND_PORT,
    CERTS,
    FULL_BYTES,
    SEARCHED,
    SPARE,
    Ports,
    Server,
    ServerError,
    Setup,
    locate,
)


def read_servers() -> dict[str, Server]:
    """Return all of them by name. Raises UserError when the file is wrong."""
    return {name: make_server(name, table) for name, table in live_servers().items()}


def make_server(name: str, table: LiveServer) -> Server:
    """Return the server that a table describes. Raises ServerError with a sentence where its client is none."""
    try:
        find_application(table.client)
    except ValueError as error:
        raise ServerError(f"memtest/live_servers.toml: [{name}]: client: {error}", status=2) from None
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return Server(
        name=name,
        program=table.program,
        package=table.package or "",
        source=table.source,
        link_to=table.link_to,
        library=table.library,
        version=table.asked,
        full_bytes=FULL_BYTES if table.client["protocol"] == "http" else None,
        largest=lambda descriptors: (descriptors - SPARE) // (2 if table.backend else 1),
        configured=table.largest,
        configure=lambda setup: configure(table, setup),
        ports=Ports(table.ports[-1] if table.no_plain else table.ports[0], table.ports[-1]),
        prefix=("prlimit", f"--nofile={files}:{files}", *become(table.user)),
        client=table.client,
        says=table.says,
        linked=table.linked,
        prepare=lambda setup: prepare(table, setup),
        at_once=table.at_once,
        still_s=table.still_s,
        has_backend=table.backend,
        no_plain=table.no_plain,
        no_sites=table.unmetered or table.unnamed,
        meters=("rss",) if table.unmetered else ("rss", "heap"),
    )


def become(user: str | None) -> tuple[str, ...]:
    """Return the words that start a command as this user, in the group of its account; none without a user."""
    if not user:
        return ()
    try:
        group = str(pwd.getpwnam(user).pw_gid)
    except KeyError:  # as `prepare` says
        group = user
    return "setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"


def configure(table: LiveServer, setup: Setup) -> list[str]:
    """Write a server's files, and return its arguments."""
    folder, filled = setup.folder, fill(table, setup)
    for name in ("chain", "key"):
        shutil.copyfile(CERTS / f"{name}.pem", folder / f"{name}.pem")
    if any("{both}" in text for text in table.files.values()):
        (folder / "both.pem").write_text("".join((CERTS / f"{name}.pem").read_text() for name in ("chain", "key")))
    for name, text in table.files.items():
        (folder / name).write_text(text.format(**filled))
    if table.client["protocol"] == "http":
        (folder / "small").write_text("x")
        (folder / "full").write_text("x" * FULL_BYTES)
    return [word.format(**filled) for word in table.arguments]


def fill(table: LiveServer, setup: Setup) -> dict[str, str | int]:
    """Return what is filled into a table's texts."""
    return {
        "folder": str(setup.folder),
        "plain": setup.ports.plain,
        "tls": setup.ports.tls,
        "backend": BACKEND_PORT,
        "chain": str(setup.folder / "chain.pem"),
        "key": str(setup.folder / "key.pem"),
        "both": str(setup.folder / "both.pem"),
        "most": setup.most + SPARE,
        "protocol": setup.protocol,
        "protocol_lower": setup.protocol.lower(),
        "minor": setup.protocol[-1],
        "modules": str(Path(table.linked or "/").parent),
    }


def prepare(table: LiveServer, setup: Setup) -> None:
    """Give the folder to the server's user, and run the commands that come before it. Raises ServerError."""
    if table.user:
        try:
            account = pwd.getpwnam(table.user)
        except KeyError:
            raise ServerError(f"{table.what} runs as {table.user}, and there is no such user") from None
        for path in (setup.folder, *setup.folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        (setup.folder / "key.pem").chmod(0o600)  # PostgreSQL takes no key that others can read
    beside = Path(locate(table.program) or "/").resolve().parent
    for command in table.prepare:
        program, *words = (word.format(**fill(table, setup)) for word in command)
        found = shutil.which(program, path=f"{beside}{os.pathsep}{SEARCHED}") or program
        done = subprocess.run([*become(table.user), found, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr + done.stdout).strip().splitlines() or ["it said nothing"]
            raise ServerError(f"{program} ended with {done.returncode}: {said[-1]}")
