"""The harness of a stack written in Go: the toolchain of go.mod builds it, which brings TLS and all else along."""

import os
import re
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import commands, stamps
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.config.definitions import Stack

MODULE = "harness-go"
PINNED = re.compile(r"^go (\S+)$", re.MULTILINE)
# No setting of the user's reaches the compiler; nothing but the source and its version is in the binary.
FIXED = {"CGO_ENABLED": "0", "GOAMD64": "v1", "GOENV": "off", "GOFLAGS": "-trimpath -buildvcs=false", "GOWORK": "off"}
NETWORK = ("GOPROXY", "GOSUMDB", "GONOSUMDB")  # where a toolchain that is not installed comes from


def hash_inputs(stack: Stack, root: Path) -> dict[str, str]:
    """Every file of the module; it needs no other."""
    module = (root / stack.manifest).parent
    return stamps.hash_files([root / stack.manifest, *module.glob("**/*.go")], root)


def build(name: str, stack: Stack, binary: Path, root: Path, log: Path) -> None:
    version, asked = pinned_version(root), name.partition("@")[2]
    if asked[:1].isdigit() and asked != version:
        raise BuildFailed(
            f"{name}: {stack.manifest} says go {version}; the stack must be named after it, or it be changed"
        )
    command = ["go", "build", "-o", str(binary), f"./{stack.binary}"]
    commands.run(command, log, f"{name}: go build", (root / stack.manifest).parent, **go_variables(root))


def pinned_version(root: Path = ROOT) -> str:
    """The version of the toolchain, which is also that of crypto/tls."""
    return PINNED.search((root / MODULE / "go.mod").read_text())[1]


def go_variables(root: Path) -> dict[str, str]:
    """Of every call of go: GOTOOLCHAIN has it be this version, or fetch it, or fail."""
    kept = {name: os.environ[name] for name in NETWORK if name in os.environ}
    caches = {"GOCACHE": str(root / "build/go/cache"), "GOPATH": str(root / "build/go")}
    return FIXED | caches | kept | {"GOTOOLCHAIN": f"go{pinned_version(root)}"}


def toolchain_record(root: Path = ROOT) -> dict[str, str]:
    """By what, and with which flags: the same in every clone and on every machine."""
    version = pinned_version(root)
    try:
        said = commands.read_output(["go", "env", "GOVERSION"], root, **go_variables(root))
    except BuildFailed as error:
        way_out = "it is at https://go.dev/dl, and any Go from 1.21 on fetches it by itself"
        raise Unavailable(f"Go {version} is needed: {way_out}; {str(error).splitlines()[-1]}") from None
    if said != f"go{version}":  # an older one does not know of toolchains
        raise Unavailable(f"{said} is installed, and Go {version} is needed: https://go.dev/dl")
    return {"compiler": said, "flags": " ".join(f"{key}={FIXED[key]}" for key in ("CGO_ENABLED", "GOAMD64", "GOFLAGS"))}
