"""A mirror of Debian's with a small source package or a binary one, on this machine."""

import hashlib
import io
import shutil
import subprocess
import tarfile

from tlsmem.build import sources
from tlsmem.config.definitions import Source

TINY = "const char *tiny(void) { return __FILE__; }\n"


def sums(data):
    return hashlib.sha256(data).hexdigest(), len(data)


def orig(version):
    """Upstream's archive; its one directory is named as upstream pleases."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:xz") as archive:
        member = tarfile.TarInfo(f"Tiny_{version}-final/tiny.c")
        member.size = len(TINY)
        archive.addfile(member, io.BytesIO(TINY.encode()))
    return file.getvalue()


class Mirror:
    """A mirror of Debian's with `tiny` in one suite, and a machine whose apt asks it for other suites."""

    def __init__(self, place, monkeypatch):
        self.place, self.parts = place / "debian", place / "etc"
        self.parts.mkdir()
        (place / "apt.conf").write_text(f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{self.parts}";\n')
        monkeypatch.setenv("APT_CONFIG", str(place / "apt.conf"))
        (self.parts / "a.list").write_text(f"deb [trusted=yes] file:{self.place} bookworm main contrib # ours\n")
        self.folder = place / "sources"
        self.folder.mkdir()

    def offer(self, suite, *versions):
        """These, and their archive's sum."""
        pool, paragraphs = self.place / "pool", []
        pool.mkdir(parents=True)
        for version in versions:
            files = {f"tiny_{version}.dsc": b"x", f"tiny_{version.partition('-')[0]}.orig.tar.xz": orig(version)}
            for name, data in files.items():
                (pool / name).write_bytes(data)
            listed = "".join(f" {sum_} {size} {name}\n" for name, (sum_, size) in self.listed(files))
            head = f"Package: tiny\nBinary: tiny\nVersion: {version}\nArchitecture: any\nFormat: 3.0 (quilt)\n"
            paragraphs.append(f"{head}Directory: pool\nChecksums-Sha256:\n{listed}")
        self.write_index(suite, "main/source/Sources", "\n".join(paragraphs).encode())

    def write_index(self, suite, name, index):
        """The one index of a suite, and its Release file."""
        folder = self.place / "dists" / suite
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(index)
        sum_, size = sums(index)
        (folder / "Release").write_text(
            f"Origin: Debian\nCodename: {suite}\nComponents: main\nDate: Sat, 01 Aug 2026 00:00:00 UTC\n"
            f"Architectures: {self.architecture()} all\nSHA256:\n {sum_} {size} {name}\n"
        )

    def offer_package(self, suite, version):
        """The binary package libtiny, which installs a file; the .deb."""
        tree = self.place / "build"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/include").mkdir(parents=True)
        (tree / "usr/include/tiny.h").write_text(TINY)
        control = f"Package: libtiny\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: tiny\n"
        (tree / "DEBIAN/control").write_text(control)
        (self.place / "pool").mkdir()
        deb = self.place / f"pool/libtiny_{version}_all.deb"
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, deb], check=True, capture_output=True)
        shutil.rmtree(tree)
        sum_, size = sums(deb.read_bytes())
        index = f"{control}Filename: pool/{deb.name}\nSize: {size}\nSHA256: {sum_}\n".encode()
        self.write_index(suite, f"main/binary-{self.architecture()}/Packages", index)
        return deb

    def architecture(self):
        return subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()

    def package(self, deb, version="1.2.3-1"):
        return Source(package="libtiny", suite="trixie", version=version, sha256=sums(deb.read_bytes())[0], tree="usr")

    def listed(self, files):
        return [(name, sums(data)) for name, data in files.items()]

    def source(self, version="1.2.3-1", suite="trixie", sum_=None):
        return Source(debian="tiny", suite=suite, version=version, sha256=sum_ or sums(orig(version))[0])

    def get(self, source):
        return sources.provide_tree("tiny@1", source, self.folder, self.folder.parent / "log")
