"""The harness of a stack written in Go: the toolchain of its manifest builds it, which brings all else, TLS too."""

import os
import re
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import commands, stamps
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.config.definitions import Stack

MODULE = "harness-go"
MANIFEST = f"{MODULE}/go.mod"  # other versions have a manifest beside it, go-VERSION.mod
PINNED = re.compile(r"^go (\S+)$", re.MULTILINE)
TOOLCHAIN = "golang.org/toolchain"  # the module as which the go command downloads a toolchain
# No setting of the user's reaches the compiler; nothing but the source and its version is in the binary.
FIXED = {"CGO_ENABLED": "0", "GOAMD64": "v1", "GOENV": "off", "GOFLAGS": "-trimpath -buildvcs=false", "GOWORK": "off"}
NETWORK = ("GOPROXY", "GOSUMDB", "GONOSUMDB")  # where a toolchain that is not installed comes from


def hash_inputs(stack: Stack, root: Path) -> dict[str, str]:
    """Every file of the module; it needs no other."""
    manifest = root / stack.manifest_target.manifest
    return stamps.hash_files([manifest, manifest.with_suffix(".sum"), *(root / MODULE).glob("**/*.go")], root)


def build(name: str, stack: Stack, binary: Path, root: Path, log: Path) -> None:
    manifest, program = stack.manifest_target
    version, asked = pinned_version(root, manifest), name.partition("@")[2]
    if asked[:1].isdigit() and asked != version:
        raise BuildFailed(f"{name}: {manifest} says go {version}; the stack must be named after it, or it be changed")
    command = ["go", "build", f"-modfile={Path(manifest).name}", "-o", str(binary)]
    command += ["-tags", ",".join(stack.features)] * bool(stack.features)
    command.append(f"./{program}")
    commands.run(command, log, f"{name}: go build", root / MODULE, more=go_variables(root, manifest))


def pinned_version(root: Path = ROOT, manifest: str = MANIFEST) -> str:
    """The version of the toolchain, which is also that of crypto/tls. Raises BuildFailed where it has none."""
    if not (found := PINNED.search((root / manifest).read_text())):
        raise BuildFailed(f"{manifest}: no line `go VERSION` says which toolchain builds it; add one")
    return found[1]


def go_variables(root: Path, manifest: str = MANIFEST) -> dict[str, str]:
    """Of every call of go: GOTOOLCHAIN has it be this version, or fetch it, or fail."""
    caches = {"GOCACHE": str(root / "build/go/cache"), "GOPATH": str(root / "build/go")}
    return FIXED | caches | network_variables() | {"GOTOOLCHAIN": f"go{pinned_version(root, manifest)}"}


def network_variables() -> dict[str, str]:
    """The user's own that say where a toolchain comes from."""
    return {name: os.environ[name] for name in NETWORK if name in os.environ}


def toolchain_record(root: Path = ROOT, manifest: str = MANIFEST) -> dict[str, str]:
    """By what, and with which flags: the same in every clone and on every machine."""
    version = pinned_version(root, manifest)
    try:
        said, goroot = commands.read_output(
            ["go", "env", "GOVERSION", "GOROOT"], root, go_variables(root, manifest)
        ).splitlines()
    except BuildFailed as error:
        way_out = "it is at https://go.dev/dl, and any Go from 1.21 on fetches it by itself"
        raise Unavailable(f"Go {version} is needed: {way_out}; {str(error).splitlines()[-1]}") from None
    if said != f"go{version}":  # an older one does not know of toolchains
        raise Unavailable(f"{said} is installed, and Go {version} is needed: https://go.dev/dl")
    check_download(Path(goroot), root, manifest)
    return {"compiler": said, "flags": " ".join(f"{key}={FIXED[key]}" for key in ("CGO_ENABLED", "GOAMD64", "GOFLAGS"))}


def check_download(goroot: Path, root: Path, manifest: str) -> None:
    """Raise BuildFailed unless a toolchain that was downloaded has the checksum beside the manifest.

    The go command has compared it with the checksum database, unless the user's variables turn that off. A toolchain
    that is installed on the machine is not checked."""
    path, _, release = goroot.name.partition("@")
    if path != Path(TOOLCHAIN).name or not release:
        return
    pins = manifest.removesuffix(".mod") + ".sum"
    found = (goroot.parents[1] / f"cache/download/{TOOLCHAIN}/@v/{release}.ziphash").read_text().strip()
    lines = [line.split() for line in (root / pins).read_text().splitlines()]
    pinned = {words[1]: words[2] for words in lines if words[0] == TOOLCHAIN}
    if release not in pinned:
        raise BuildFailed(
            f"{pins}: has no checksum of the toolchain {release}; add the line {TOOLCHAIN} {release} {found}"
        )
    if pinned[release] != found:
        raise BuildFailed(
            f"{pins}: the toolchain {release} that was downloaded has the checksum {found}, and {pinned[release]} is "
            f"pinned; remove {goroot} and set GOPROXY to a source that you trust"
        )
