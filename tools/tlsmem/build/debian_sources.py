"""Upstream's archive in a source package of Debian's, or a binary package, by an apt of our own: the machine's is
read, and never changed.

Where to ask is what the machine's own apt sources say, with the suite that is wanted in place of theirs.
"""

import email
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tlsmem.build import cache, commands
from tlsmem.build.commands import BuildFailed, Unavailable
from tlsmem.config.definitions import Source

ONE_LINE = re.compile(r"deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)")
KEPT = ("URIs", "Signed-By", "Trusted")  # of an entry; suite and component are ours
SECURITY = "-security"
GONE = re.compile(
    r"^[EW]: Failed to fetch .*(\s404\s|File not found)", re.MULTILINE
)  # the archive answers, and has it not


OTHER_STACK = "another version is another stack: give it a table of its own in memtest/stacks.toml"


def fetch(source: Source, folder: Path, log: Path, title: str, way_out: str = OTHER_STACK) -> Path:
    """The .orig archive, in `folder`. Raises Unavailable, whose sentence ends in `way_out`, when Debian has replaced
    this version; one with other patches of Debian's has the same archive, whose checksum decides."""
    file = archive_path(source, folder)
    if file.is_file() or cache.restore_source(source.sha256, file, title):
        return file
    with tempfile.TemporaryDirectory(prefix="apt-", dir=folder) as made:
        package, in_suite = source.in_debian
        suite = open_suite(in_suite, package, Path(made), log, title, "deb" if source.package else "deb-src")
        offered = choose_version(source, suite.list_versions(source), title, way_out)
        archive = suite.download(source.model_copy(update={"version": offered}))
        shutil.copyfile(archive, suite.place / "whole")  # it may be a link, into a mirror here
        return (suite.place / "whole").replace(file)


class Suite(NamedTuple):
    """A suite of Debian's, as apt knows it now."""

    name: str
    apt: list[str]  # options
    place: Path  # where it downloads to
    log: Path
    title: str  # of messages

    def list_versions(self, source: Source) -> list[str]:
        """Return the versions of this source or binary package that the index lists."""
        kind = ["showsrc", "--only-source"] if source.debian else ["show"]
        try:
            said = commands.read_output(["apt-cache", *self.apt, *kind, source.registry_name])
        except BuildFailed:  # apt's way to say none
            return []
        return sorted(set(re.findall(r"^Version: (.+)$", said, re.MULTILINE)))

    def download(self, source: Source) -> Path:
        """Return the .orig archive or the .deb, in `place`. Raises Unavailable when the index lists it and the pool has
        no file."""
        start, wanted = log_size(self.log), f"{source.registry_name} {source.version}"
        kind = ["source", "--download-only", "--tar-only"] if source.debian else ["download"]
        command = ["apt-get", *self.apt, *kind, wanted.replace(" ", "=")]
        try:
            commands.run(command, self.log, f"{self.title}: fetching {wanted}", self.place)
        except BuildFailed:
            if GONE.search(read_log(self.log, start)):
                raise Unavailable(f"{self.title}: Debian's {self.name} lists {wanted} and does not serve it") from None
            raise
        ending = ".orig.tar.*" if source.debian else ".deb"
        [archive] = [file for file in self.place.glob(f"*{ending}") if file.suffix != ".asc"]
        return archive


def open_suite(suite: str, package: str, place: Path, log: Path, title: str, types: str = "deb-src") -> Suite:
    """Ask for what the suite offers now. Raises BuildFailed when its archive cannot be reached, Unavailable when it has
    no such suite.

    Without the error mode apt takes an archive that does not answer for an empty one."""
    apt, start = private(place, find_entry(suite, package, title, types)), log_size(log)
    command = ["apt-get", *apt, "-o", "APT::Update::Error-Mode=any", "update"]
    try:
        commands.run(command, log, f"{title}: asking for {package} of {suite}", place)
    except BuildFailed:
        said = read_log(log, start)
        if GONE.search(said):
            raise Unavailable(f"{title}: Debian's archive has no {suite} any more") from None
        reasons = re.findall(r"^[EW]: (.+)$", said, re.MULTILINE) or ["apt-get says no reason"]
        raise BuildFailed(
            f"{title}: cannot reach Debian's archive to ask for {package} of {suite}: {reasons[0]}; "
            f"try again when it can be reached (the whole log: {log})"
        ) from None
    return Suite(suite, apt, place, log, title)


def log_size(log: Path) -> int:
    """Where what is written from now on begins."""
    return log.stat().st_size if log.exists() else 0


def read_log(log: Path, start: int) -> str:
    """What was written to the log after `start`."""
    with log.open("rb") as written:
        written.seek(start)
        return written.read().decode(errors="replace")


def archive_path(source: Source, folder: Path) -> Path:
    return folder / f"{source.registry_name}-{source.version}{'.orig' if source.debian else '.deb'}"


def private(place: Path, stanza: str) -> list[str]:
    """Options that keep apt within `place`, with one source to ask."""
    for folder in ("sources", "lists/partial", "archives/partial"):
        (place / folder).mkdir(parents=True)
    (place / "sources/wanted.sources").write_text(stanza)
    settings = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": f"{place}/sources",
        "Dir::State::lists": f"{place}/lists",
        "Dir::State::status": "/dev/null",  # what is installed is nothing that a suite has
        "Dir::Cache": str(place),
        "APT::Sandbox::User": "root",  # the user _apt may not be let in here
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def choose_version(source: Source, versions: list[str], title: str, way_out: str) -> str:
    """Return the version to download: the pinned one, or, of a source package, another revision of the same upstream
    version. Raises Unavailable where there is neither."""
    alike = [one for one in versions if source.debian and upstream_version(one) == upstream_version(source.version)]
    if source.version in versions or alike:
        return source.version if source.version in versions else alike[-1]
    now = f"it offers {' and '.join(versions)} now" if versions else "it offers none now"
    gone = f"{title}: Debian's {source.suite} has no {source.registry_name} {source.version} any more"
    raise Unavailable(f"{gone}; {now}, and {way_out}")


def upstream_version(version: str) -> str:
    """Return `3.0.11` of `3.0.11-1+deb13u4`."""
    return version.rpartition("-")[0] or version


def find_entry(suite: str, package: str, title: str, types: str = "deb-src") -> str:
    """What apt is to ask for this suite: the machine's entry for its own suite of that kind."""
    if not shutil.which("apt-get"):
        raise Unavailable(
            f"{title}: its source is a package of Debian's, and there is no apt-get here to fetch it with"
        )
    security = suite.endswith(SECURITY)
    for fields in read_entries(*configured()):
        suites = fields.get("Suites", "").split()
        if any(one.endswith(SECURITY) == security for one in suites) and is_debians(fields):
            own = {"Types": types, "Suites": suite, "Components": "main"}
            return "".join(
                f"{key}: {value}\n" for key, value in ({key: fields.get(key) for key in KEPT} | own).items() if value
            )
    kind = f"a {SECURITY} suite" if security else "a suite"
    raise Unavailable(f"{title}: no apt source of this machine has {kind} of Debian's to ask for {package} like")


def is_debians(fields: dict[str, str]) -> bool:
    """Not a vendor's. A wrong guess asks in vain: whatever comes is checked by its SHA-256."""
    of_debian = "debian" in f"{fields.get('URIs')} {fields.get('Signed-By')}".lower()
    return of_debian and "main" in fields.get("Components", "").split()


def configured() -> tuple[Path, Path]:
    """The machine's list, and its directory of lists, as its apt has them."""
    said = commands.read_output(
        ["apt-config", "shell", "list", "Dir::Etc::sourcelist/f", "parts", "Dir::Etc::sourceparts/d"]
    )
    places = dict(word.partition("=")[::2] for word in shlex.split(said))
    return Path(places["list"]), Path(places["parts"])


def read_entries(one: Path, folder: Path) -> Iterator[dict[str, str]]:
    """Those for binary packages, whichever of apt's two forms they are written in, as fields of the newer."""
    for file in (one, *sorted(folder.glob("*.list"))):
        for line in file.read_text().splitlines() if file.is_file() else ():
            if found := ONE_LINE.match(line.partition("#")[0].strip()):
                yield parse_one_line(*found.groups())
    for file in sorted(folder.glob("*.sources")):
        text = re.sub(r"^#.*\n", "", file.read_text(), flags=re.MULTILINE)
        for stanza in re.split(r"\n\s*\n", text):
            fields = email.message_from_string(stanza.lstrip())
            if "deb" in fields.get("Types", "").split() and fields.get("Enabled", "yes").lower() not in ("no", "false"):
                yield dict(fields)


def parse_one_line(options: str | None, uri: str, suite: str, components: str) -> dict[str, str]:
    given = dict(option.partition("=")[::2] for option in (options or "").split())
    named = {"Signed-By": given.get("signed-by"), "Trusted": given.get("trusted")}
    return {"URIs": uri, "Suites": suite, "Components": components} | {
        key: value for key, value in named.items() if value
    }
