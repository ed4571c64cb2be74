"""The sections of certificates: each stack is of the newest recording that has it."""

from tests.support.chained import recorded
from tests.support.reports import read
from tlsmem.topics.certificates import section as certificate_section
from tlsmem.topics.chains import section as chain_section

OPENSSL, RUSTLS, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"


def chains(stack, size):
    return [*recorded(stack, SUITE, {}), *recorded(stack, f"{SUITE}-mutual", {"server": size})]


def test_a_later_recording_of_one_stack_does_not_hide_the_others(tmp_path):
    newest_first = read(tmp_path, chains(RUSTLS, 2_000), [*chains(RUSTLS, 9_000), *chains(OPENSSL, 10_000)])
    names = [one.name for one in newest_first]
    section = chain_section.section(newest_first)
    assert "between 2,000 B (rustls 0.23.46 (aws-lc)) and 10,000 B (OpenSSL 3.5.5)" in section.html
    for one in section, certificate_section.section(newest_first):
        assert [shown.label for shown in one.tables] == names
        assert all(name in one.pictures[0].command for name in names)


def test_a_recording_of_which_all_is_newer_elsewhere_is_not_shown(tmp_path):
    several = read(tmp_path, chains(RUSTLS, 2_000), chains(RUSTLS, 9_000))
    for one in chain_section.section(several), certificate_section.section(several):
        assert [shown.group for shown in one.tables] == [None]
        assert several[1].name not in one.pictures[0].command
