"""The section of releases: a picture of each recording of many stacks, its command, and recordings that have none."""

from tests.support import synthetic
from tlsmem.report import recordings
from tlsmem.topics.releases import section as releases_section

RELEASES = ["openssl@3.0.9", "openssl@3.5.5", "openssl@4.0.3"]
OTHERS = ["boringssl@5.4.0", "rustls+aws-lc@0.23.46", "gnutls@3.8.9", "awslc@5.12.0"]
SUITE = "tls13-rsa-aes256"


def read(tmp_path, *stacks: list[str]):
    """A recording of each of these lists of stacks, which are of one size."""
    paths = []
    for at, some in enumerate(stacks):
        runs = [
            run.model_copy(update={"stack": stack})
            for stack in some
            for run in synthetic.campaign(["openssl@3.5.5"], [SUITE], roles="split")
        ]
        paths.append(synthetic.write(tmp_path / f"2026-01-3{at}-example", runs))
    return list(recordings.by_machine(recordings.load_recordings(paths)))


def test_a_library_with_several_releases_is_drawn_by_its_command(tmp_path):
    found = read(tmp_path, [*RELEASES, *OTHERS])
    section = releases_section.section(found)
    (picture,) = section.pictures
    assert (section.id, picture.name) == ("releases", "releases")
    assert picture.command == (
        f"tools/tls-memtest show releases {found[0].path} -o releases --roles split --library openssl --suite {SUITE}"
    )
    (axes,) = picture.draw().axes
    assert axes.get_title() == "OpenSSL" and len(axes.lines[0].get_xdata()) == len(RELEASES)


def test_few_stacks_and_single_releases_have_no_section(tmp_path):
    assert releases_section.section(read(tmp_path, RELEASES)) is None
    others = [*OTHERS, "wolfssl@5.9.4", "mbedtls@3.6.7", *RELEASES[:2]]
    assert releases_section.section(read(tmp_path / "others", others)) is None


def test_several_recordings_have_a_picture_each(tmp_path):
    section = releases_section.section(read(tmp_path, [*RELEASES, *OTHERS], [*RELEASES, *OTHERS]))
    assert [one.name for one in section.pictures] == ["releases-2026-01-30-example", "releases-2026-01-31-example"]
    assert len({one.title for one in section.pictures}) == 2
