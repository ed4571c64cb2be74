"""The cores in C and in Go have the points that memtest/stall_points.toml has."""

import pytest

import write_stall_points
from tlsmem.base.paths import ROOT
from tlsmem.config.stall_points import StallPoint, stall_points

POINTS = {
    "silent": StallPoint("server", "nothing"),
    "two-names": StallPoint(
        "client", "more", deliver="send_request", extension=0xFA, names=2, answers=True, auth="mutual"
    ),
}


@pytest.mark.parametrize("file", write_stall_points.FILES)
def test_what_is_written_for_a_language_is_the_table_as_it_is_now(file):
    """Run tools/dev/write_stall_points.py, and commit what it wrote."""
    assert (ROOT / file).read_text() == write_stall_points.FILES[file](stall_points())


def test_a_point_has_its_fields_in_each_language():
    assert write_stall_points.write_c(POINTS).splitlines()[1:] == [
        '{.name = "silent", .role = ROLE_SERVER},',
        '{.name = "two-names", .role = ROLE_CLIENT, .deliver = send_request, .extension = 250, .names = 2, '
        '.answers = true, .auth = "mutual"},',
    ]
    assert write_stall_points.write_go(POINTS).splitlines()[5:] == [
        '\t{name: "silent", role: Server},',
        '\t{name: "two-names", role: Client, deliver: sendRequest, extension: 250, names: 2, answers: true, '
        'auth: "mutual"},',
        "}",
    ]
