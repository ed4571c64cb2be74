"""What registries offer now: the versions that they list, and whether they serve these.

Each registry is asked by its ordinary client (cargo, apt, go) for the packages that memtest/stacks.toml pins; PyPI and
npm (pip, npm) for those whose OpenSSL tools/dev/shipped.py measures. A version is tried by downloading it: an index may
list what its pool no longer has."""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Protocol

from tlsmem.base.paths import ROOT
from tlsmem.build import commands, debian_sources, go_stack, sources
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import Source, Stack
from tlsmem.config.libraries import library_key
from tlsmem.config.releases import is_stable, series, version, version_key
from tlsmem.config.toml_tables import parse_toml

UNFETCHED = "0" * 64  # in the place of the sum of an archive that was not fetched yet
NEWEST_SUITES = ("sid", "experimental")  # of Debian's, beside those that stacks.toml pins
RUST = "rustls"  # the library that stacks take from the lock files beside their manifests
GO = "go"
SHIPPED = ROOT / "tools/dev/shipped/packages.toml"  # packages with an OpenSSL inside
WHEEL = ("--python-version", "311", "--abi", "abi3", "--platform", "manylinux_2_34_x86_64")  # as shipped.py takes it
TITLE = "newer releases"  # of messages
ASIDES = ("Updating", "Caused by", "warning", "npm error A complete log", "npm notice", "[notice]")  # no reasons


class Offer(NamedTuple):
    """A version that a registry lists, and what is measured of the same library."""

    library: str  # the first word of its stacks' names
    place: str  # where it is listed: `crate rustls 0.23.47`
    version: str  # upstream's, where the registry tells it; else the package's
    measured: Mapping[str, str]  # stacks by their version, in the registry's numbers

    @property
    def origin(self) -> str:
        """Return its place without the version: `crate rustls`."""
        return re.sub(r" \S+( \(\S+\))?$", "", self.place)

    @property
    def known(self) -> str | None:
        """Return the measured stack that this release comes after: of its series, or of one before it; else None."""
        same = [one for one in self.measured if series(one) == series(self.version)]
        before = [one for one in same or self.measured if version_key(one) < version_key(self.version)]
        if not before or not is_stable(self.version) or (same and len(before) < len(same)):
            return None
        return self.measured[max(before, key=version_key)]


class NewRelease(NamedTuple):
    """An offer that is newer than what is measured, and why it is not served; None where it is."""

    offer: Offer
    refusal: str | None


class Registry(Protocol):
    """A registry, asked by its client."""

    def list_offers(self) -> Iterator[Offer]:
        """Yield what it lists. Raises BuildFailed with a sentence where it does not answer."""

    def download(self, offer: Offer) -> None:
        """Fetch it. Raises BuildFailed where it is not served."""


def find_new_releases(stacks: Mapping[str, Stack], log: Path) -> tuple[list[NewRelease], list[str]]:
    """Return what is newer than these stacks, and a sentence for each registry that did not answer."""
    found: list[NewRelease] = []
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="memtest-offers-") as made:
        for kind in (Crates, Debian, Go, Wheels, NodePackages):
            registry: Registry = kind(stacks, Path(made), log)
            try:
                found += [
                    one for several in newest_first(registry.list_offers()) for one in try_series(several, registry)
                ]
            except BuildFailed as error:
                failures.append(sentence(error))
    return found, failures


def newest_first(offers: Iterable[Offer]) -> Iterator[list[Offer]]:
    """Yield the new offers of each origin's release series, the newest first, each version once."""
    new = {(one.library, one.origin, one.version): one for one in offers if one.known}
    for _, several in groupby(sorted(new.values(), key=series_of_offer), series_of_offer):
        yield sorted(several, key=lambda one: version_key(one.version), reverse=True)


def series_of_offer(offer: Offer) -> tuple[str, str, str]:
    """Return the library, the origin and the release series of an offer."""
    return offer.library, offer.origin, series(offer.version)


def try_series(offers: Sequence[Offer], registry: Registry) -> Iterator[NewRelease]:
    """Yield offers with what came of downloading them, down to the first that is served."""
    for offer in offers:
        refusal = None
        try:
            registry.download(offer)
        except BuildFailed as error:
            refusal = sentence(error)
        yield NewRelease(offer, refusal)
        if not refusal:
            return


def sentence(error: BuildFailed) -> str:
    """What went wrong, in one line."""
    return str(error).splitlines()[0].removeprefix(f"{TITLE}: ")


def measured_releases(stacks: Mapping[str, Stack], library: str) -> dict[str, str]:
    """Return the first stack of each release of a library, whatever its build."""
    there = [name for name in stacks if library_key(name) == library and version(name)[:1].isdigit()]
    return {version(name): name for name in reversed(there)}


def shipped_as(package: str, stacks: Mapping[str, Stack]) -> dict[str, Stack]:
    """Return the stacks that are this binary package of Debian's."""
    return {name: stack for name, stack in stacks.items() if stack.pinned and stack.pinned.package == package}


class Crates:
    """crates.io, asked by cargo: of each crate the newest version, and the newest of each series that is pinned."""

    def __init__(self, stacks: Mapping[str, Stack], place: Path, log: Path) -> None:
        self.stacks, self.place, self.log = stacks, place / "crates", log

    def list_offers(self) -> Iterator[Offer]:
        """Yield the newest version of each crate and of each of its series."""
        for (library, crate), pinned in self.pinned().items():
            newest = {series(one): one.partition("+")[0] for one in sorted(pinned, key=version_key)}
            for requirement in ("*", *(f"~{one}" for one in newest.values())):  # ~300.5.5: not 300.6
                listed = self.resolve(crate, requirement)
                tells = "+" in listed or crate == library  # upstream's release: 300.5.5+3.5.5
                measured = measured_releases(self.stacks, library) if tells else pinned
                yield Offer(library, f"crate {crate} {listed}", listed.partition("+")[2] or listed, measured)

    def pinned(self) -> dict[tuple[str, str], dict[str, str]]:
        """The stacks by the version of their crate, by library and crate."""
        found: dict[tuple[str, str], dict[str, str]] = {}
        for name, stack in self.stacks.items():
            library = library_key(name)
            if (source := stack.pinned) and source.crate:
                found.setdefault((library, source.crate), {})[source.version] = name
            elif library == RUST:
                found.setdefault((library, RUST), {})[version(name)] = name
        return found

    def resolve(self, crate: str, requirement: str) -> str:
        """The newest version that meets the requirement."""
        folder = self.folder(crate, requirement)
        try:
            commands.read_output(["cargo", "generate-lockfile"], folder)
        except BuildFailed as error:
            raise BuildFailed(f"crates.io was not asked further than {crate}: {reason(error)}") from None
        locked = parse_toml((folder / "Cargo.lock").read_bytes())["package"]
        listed: str = next(one["version"] for one in locked if one["name"] == crate)
        return listed

    def folder(self, crate: str, requirement: str) -> Path:
        """A package that depends on this crate alone."""
        folder = self.place / f"{crate}-{len(list(self.place.glob('*')))}"
        sources.write_fetch_manifest(folder, crate, requirement)
        return folder

    def download(self, offer: Offer) -> None:
        """Fetch the crate. Raises BuildFailed where it is not served."""
        _, crate, listed = offer.place.split()
        sources.fetch_crate(Source(crate=crate, version=listed, sha256=UNFETCHED), self.place, self.log, crate)


class Debian:
    """Debian's archive, asked by an apt of our own: its suites that stacks.toml pins, and the newest."""

    def __init__(self, stacks: Mapping[str, Stack], place: Path, log: Path) -> None:
        self.stacks, self.place, self.log = stacks, place, log
        self.found: dict[str, tuple[Source, debian_sources.Suite]] = {}  # by the place of the offer

    def list_offers(self) -> Iterator[Offer]:
        """Yield every version of the pinned packages that a suite lists, source packages and binary ones."""
        sources_by_stack = {name: source for name, stack in self.stacks.items() if (source := stack.pinned)}
        pinned = {name: source for name, source in sources_by_stack.items() if not source.crate}
        packages = {(library_key(name), source.debian, source.package) for name, source in pinned.items()}
        suites = dict.fromkeys([*(source.in_debian[1] for source in pinned.values()), *NEWEST_SUITES])
        for suite in suites if packages else ():
            place = self.place / f"apt-{suite}"
            opened = debian_sources.open_suite(suite, "releases", place, self.log, TITLE, "deb deb-src")
            for library, debian, package in sorted(packages, key=str):
                measured = measured_releases(shipped_as(package, self.stacks) if package else self.stacks, library)
                whichever = Source(debian=debian, package=package, suite=suite, version="0", sha256=UNFETCHED)
                for listed in opened.list_versions(whichever):
                    source = whichever.model_copy(update={"version": listed})
                    offer = Offer(library, sources.describe_package(source), upstream_version(listed), measured)
                    self.found[offer.place] = source, opened
                    yield offer

    def download(self, offer: Offer) -> None:
        """Fetch the .orig archive or the .deb. Raises BuildFailed where it is not served."""
        source, suite = self.found[offer.place]
        suite.download(source).unlink()


def upstream_version(listed: str) -> str:
    """`3.13.0` of Debian's 2:3.13.0+dfsg-2~deb13u1."""
    return re.sub(r"^\d+:|-[^-]*$|[+~](dfsg|ds)\b.*$", "", re.sub(r"-[^-]*$", "", listed))


class Go:
    """The Go module proxy, asked by the go command for its toolchains."""

    def __init__(self, stacks: Mapping[str, Stack], place: Path, log: Path) -> None:
        self.stacks, self.place, self.log = stacks, place / "go", log

    def list_offers(self) -> Iterator[Offer]:
        """Yield every toolchain."""
        measured = measured_releases(self.stacks, GO)
        if not measured:
            return
        try:
            listed = self.read("list", "-m", "-versions", "go")
        except BuildFailed as error:
            raise BuildFailed(f"Go's module proxy was not asked for toolchains: {reason(error)}") from None
        for one in listed.split()[1:]:
            yield Offer(GO, f"toolchain go{one}", one, measured)

    def download(self, offer: Offer) -> None:
        """Fetch the toolchain. Raises BuildFailed where it is not served."""
        here = "-".join(self.read("env", "GOOS", "GOARCH").split())
        try:
            self.read("mod", "download", f"{go_stack.TOOLCHAIN}@v0.0.1-go{offer.version}.{here}")
        except BuildFailed as error:
            raise BuildFailed(
                f"Go's module proxy lists go {offer.version} and does not serve it: {reason(error)}"
            ) from None
        shutil.rmtree(self.place)

    def read(self, *words: str) -> str:
        """What this go command prints, without a module and with a cache of its own."""
        self.place.mkdir(parents=True, exist_ok=True)
        own = {"GOTOOLCHAIN": "local", "GOFLAGS": "-modcacherw", "GOPATH": str(self.place), "GOENV": "off"}
        return commands.read_output(["go", *words], self.place, go_stack.network_variables() | own)


class Shipped:
    """A registry of packages with an OpenSSL inside: of each package its newest version, and the newest of each major
    version that was measured."""

    registry: str
    kind: str  # the key of its packages in packages.toml

    def __init__(self, stacks: Mapping[str, Stack], place: Path, log: Path) -> None:
        self.is_asked = any(library_key(name) == "openssl" for name in stacks)
        self.place = place / self.kind

    def list_offers(self) -> Iterator[Offer]:
        """Yield them."""
        for package, measured in self.measured().items():
            self.place.mkdir(exist_ok=True)
            try:
                listed = sorted(filter(is_stable, self.list_versions(package)), key=version_key)
            except BuildFailed as error:
                raise BuildFailed(f"{self.registry} was not asked for {package}: {reason(error)}") from None
            newest = {major(one): one for one in listed}  # of each the last
            wanted = {*map(major, measured), *map(major, listed[-1:])}
            for one in (release for line, release in newest.items() if line in wanted):
                yield Offer(package, f"{self.registry} {package} {one}", one, measured)

    def measured(self) -> dict[str, dict[str, str]]:
        """What packages.toml calls the versions of each package; nothing where no OpenSSL is asked for."""
        found: dict[str, dict[str, str]] = {}
        for name, one in parse_toml(SHIPPED.read_bytes()).items() if self.is_asked else ():
            if package := one.get(self.kind):
                found.setdefault(package, {})[one["version"]] = name
        return found

    def download(self, offer: Offer) -> None:
        """Fetch it. Raises BuildFailed where it is not served."""
        try:
            commands.read_output(self.fetch_command(offer), self.place)
        except BuildFailed as error:
            raise BuildFailed(
                f"{self.registry} lists {offer.library} {offer.version} and does not serve it: {reason(error)}"
            ) from None
        shutil.rmtree(self.place)
        self.place.mkdir()

    def list_versions(self, package: str) -> list[str]:
        """Return all versions of a package."""
        raise NotImplementedError

    def fetch_command(self, offer: Offer) -> list[str]:
        """Return the command that downloads a version into the directory in which it runs."""
        raise NotImplementedError


class Wheels(Shipped):
    """PyPI, asked by pip."""

    registry, kind = "PyPI", "wheel"
    PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")

    def list_versions(self, package: str) -> list[str]:
        """Return those that this Python can have."""
        printed = commands.read_output([*self.PIP, "index", "versions", package], self.place)
        return re.findall(r"[\w.]+", printed.partition("Available versions: ")[2].partition("\n")[0])

    def fetch_command(self, offer: Offer) -> list[str]:
        """Of the wheel for x86-64."""
        wanted = [f"{offer.library}=={offer.version}", "--no-deps", "--only-binary", ":all:", *WHEEL]
        return [*self.PIP, "download", "--quiet", *wanted]


class NodePackages(Shipped):
    """The npm registry, asked by npm."""

    registry, kind = "npm", "npm"

    def list_versions(self, package: str) -> list[str]:
        """Return all."""
        listed: list[str] = json.loads(commands.read_output(["npm", "view", package, "versions", "--json"], self.place))
        return listed

    def fetch_command(self, offer: Offer) -> list[str]:
        """Of the archive."""
        return ["npm", "pack", f"{offer.library}@{offer.version}"]


def major(release: str) -> str:
    """`22` of 22.23.3."""
    return release.partition(".")[0]


def reason(error: BuildFailed) -> str:
    """What the client says, in one line: its last error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if not line.startswith(ASIDES)]
    return re.sub(r"^(npm )?error:? ", "", (causes or lines)[-1], flags=re.IGNORECASE)
