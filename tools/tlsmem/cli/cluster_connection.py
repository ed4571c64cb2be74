"""How the scheduler, the workers and the caller of a Dask cluster connect: where each listens, and TLS.

Each of them runs functions that the others send. So each listens only where the others need it, and TLS, if used,
requires the cluster's certificate of both ends."""

import asyncio
import ipaddress
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn
from urllib.parse import urlsplit

from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT

if TYPE_CHECKING:  # an environment without it imports this module
    from distributed.security import Security

CONNECT_S = 10
DAYS = 365
Role = Literal["client", "scheduler", "worker"]
NO_PAGES = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]  # Dask opens its HTTP port even without a dashboard


def split_address(address: str) -> tuple[str, int]:
    """Return the host, without brackets, and the port."""
    from distributed.comm import get_address_host_port

    host, port = get_address_host_port(address)
    return str(host), int(port)


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def describe_exposure(address: str) -> str | None:
    """Say whom the members of a cluster must trust; None where only users of this machine, or holders of the
    certificate, reach it."""
    parts = urlsplit(address)
    if parts.scheme == "tls" or is_loopback(parts.hostname or ""):
        return None
    return (
        f"{address} has no TLS, so you must trust everyone who can reach it: they can run code as your user here; with "
        "tls:// and --tls FILE, only holders of the file can (docs/how-to/cluster.md)"
    )


def make_certificate(file: Path) -> None:
    """Write a new private key, readable by its owner only, and the certificate that all members of the cluster show."""
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    words += ["-days", str(DAYS), "-subj", "/CN=tls-memtest cluster", "-keyout", "-", "-out", "-"]
    try:
        made = subprocess.run(words, capture_output=True, check=True).stdout
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(made)
    except OSError as error:
        raise UserError(f"cannot make {file}: {error.filename}: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise UserError(f"cannot make {file}: openssl: {reason}") from None


def read_security(address: str, file: Path | None, role: Role) -> "Security":
    """Return Dask's security options: from the file with key and certificate, or from Dask's own configuration.

    Raises UserError if a tls:// address has neither, or a tcp:// address has the file. Without TLS, warns who else
    can run code here."""
    from distributed.security import Security

    is_encrypted = address.startswith("tls://")
    if not is_encrypted:
        if file:
            raise UserError(f"--tls {file}: {address} has no TLS; write tls://")
        if warning := describe_exposure(address):
            print(f"memtest: {warning}", file=sys.stderr)
        return Security()
    names = ("tls_ca_file", f"tls_{role}_cert", f"tls_{role}_key")
    security = Security(require_encryption=True, **(dict.fromkeys(names, str(file.absolute())) if file else {}))
    missing = next((name for name in names[:2] if not getattr(security, name)), None)
    if missing:
        way_out = (
            "give --tls FILE, which `tools/tls-memtest measure scheduler --tls FILE` makes (docs/how-to/cluster.md)"
        )
        raise UserError(f"{address} needs the cluster's certificate: {way_out}")
    if file:
        check_private(file)
    try:
        security.get_connection_args(role)
    except OSError as error:
        files = file or security.tls_ca_file
        raise UserError(f"--tls {files}: not a private key with its certificate: {error.strerror or error}") from None
    return security


def check_private(file: Path) -> None:
    """Raise UserError if other users may read the key, or the file cannot be read."""
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise UserError(f"--tls {file}: {error.strerror}; copy it from the scheduler's machine") from None
    if mode & 0o077:
        raise UserError(f"--tls {file}: other users may read this private key; `chmod 600 {file}`")


def check_scheduler(address: str, security: "Security", role: Role, option: str = "") -> str:
    """Return this machine's own address on the way to the scheduler. Raise UserError if no scheduler answers:
    Dask itself would wait for ever."""
    from distributed.comm import connect, get_address_host

    async def greet() -> str:
        async with asyncio.timeout(CONNECT_S + 1):  # connect() says by itself that nobody listens
            comm = await connect(address, timeout=CONNECT_S, **security.get_connection_args(role))
            await comm.close()
            return str(get_address_host(comm.local_address))

    try:
        return asyncio.run(greet())
    except (OSError, ValueError) as error:
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
        reason = str(cause).partition("\n")[0] or f"no reply within {CONNECT_S} s"
        start = f"start one with `tools/tls-memtest measure scheduler {address}` (docs/how-to/cluster.md)"
        raise UserError(f"{option}{address}: no scheduler answers there: {reason}; {start}") from None


def become_dask(role: Role, address: str, security: "Security", host: str, words: list[str]) -> NoReturn:
    """Go on as Dask's own command with these words, which listens at the host only and has no HTTP pages."""
    tls = security.get_tls_config_for_role(role) if address.startswith("tls://") else {}
    files = {"--tls-ca-file": tls.get("ca_file"), "--tls-cert": tls.get("cert"), "--tls-key": tls.get("key")}
    options = [word for name, file in files.items() if file for word in (name, file)]
    where = ["--protocol", address.partition("://")[0], "--host", f"[{host}]" if ":" in host else host]
    here = {"PYTHONPATH": str(ROOT / "tools"), f"DASK_DISTRIBUTED__{role.upper()}__HTTP__ROUTES": "[]"}
    os.chdir(ROOT)
    command = ["dask", role, *words, *where, *options, *NO_PAGES]
    os.execve(ROOT / venv.CLUSTER / "bin/dask", command, os.environ | here)


def run_worker(address: str, tls: Path | None) -> NoReturn:
    """Become a worker of Dask's that offers the stacks built here. Raises UserError where it cannot."""
    from tlsmem.run.remote_run import offered_builds, resource_name

    builds = offered_builds()
    if not builds:
        raise UserError("no stack is built here; build those of the campaign with `tools/tls-memtest build`")
    security = read_security(address, tls, "worker")
    host = check_scheduler(address, security, "worker")
    offers = " ".join(f"{resource_name(stack, sha256)}=1" for stack, sha256 in builds.items())
    words = [address, "--nworkers=1", "--nthreads=1", "--resources", offers]
    words += ["--memory-limit=0", f"--local-directory={ROOT / 'build/cluster'}"]
    print(f"memtest: offers {', '.join(builds)}", file=sys.stderr, flush=True)
    become_dask("worker", address, security, host, words)


def run_scheduler(address: str, tls: Path | None) -> NoReturn:
    """Become the scheduler of a Dask cluster at this address. Raises UserError where it cannot."""
    host, port = split_address(address)
    check_free(address, host, port)
    if (
        address.startswith("tls://") and tls and not os.path.exists(tls)
    ):  # Path.exists() raises where a name is too long
        make_certificate(tls)
        print(f"memtest: made {tls}; copy it to each machine of the cluster and nowhere else", file=sys.stderr)
    security = read_security(address, tls, "scheduler")
    become_dask("scheduler", address, security, host, ["--port", str(port)])


def check_free(address: str, host: str, port: int) -> None:
    """Raise UserError if the scheduler cannot listen there, or would listen on every interface."""
    try:
        name, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        if ipaddress.ip_address(name[4][0]).is_unspecified:
            raise UserError(f"{address} means every interface of this machine; give one that the workers reach")
        with socket.socket(name[0]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(name[4])
    except OSError as error:
        way_out = "give an address of this machine and a free port"
        raise UserError(f"cannot listen at {address}: {error.strerror}; {way_out}") from None
