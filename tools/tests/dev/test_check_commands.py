"""A command of a report that does not run as it is printed is found, wherever it stands."""

import pytest

import check_commands
from tlsmem.report.packed_json import pack_json

REPEAT, STALL = "data/2026-11-21-amd-epyc", "data/2026-11-24-amd-epyc-p0457-hellos"
PHASES = {
    "readable": {"sessions": "created"},
    "recordings": [{"path": "data/2026-11-21-amd-epyc-2"}],
    "entries": [
        {
            "recording": 0,
            "stack": "openssl@3.5.5",
            "suite": "tls13-rsa-aes256",
            "phases": ["sessions", "idle"],
            "roles": {"client": {}, "server": {"alone": [None, [1, 1]]}},
            "pair_of": 2,
        }
    ],
}


def page(tmp_path, body: str = "", notes: list[str] = (), script: str = "") -> check_commands.Page:
    """Return a report with this in it, in tables' notes and in its script."""

    def payload(name: str, data: object) -> str:
        return f'<script type="text/plain" id="{name}">{pack_json(data)}</script>'

    payloads = [payload("table-x-packed", {"notes": list(notes)}), payload("packed-phases", PHASES)]
    file = tmp_path / "report.html"
    file.write_text("\n".join([body, *payloads, f"<script>{script}</script>"]))
    return check_commands.read_page(file)


def faults(found: check_commands.Page) -> dict[str, str]:
    """Return why a command does not run, by command."""
    return {fault.split("`")[1]: fault.rpartition("`: ")[2] for fault in check_commands.check(found)[0]}


@pytest.mark.thorough
def test_commands_that_run_are_no_fault(tmp_path):
    made = page(
        tmp_path,
        "<p>Campaigns; <code>tools/tls-memtest measure CAMPAIGN</code> repeats one.</p>"
        f"<code>tools/tls-memtest show tables {REPEAT} --table settings</code>",
        [
            "of a process for each role (make mem ROLES=split)",
            "none; to record it: tools/tls-memtest measure allocators",
        ],
        "`tools/tls-memtest heap read ${known.recordings[entry.recording].path} --stack ${quoted(entry.stack)} --suite "
        "${quoted(entry.suite)}`",
    )
    commands = [
        one.text for one in (*check_commands.find_shown_commands(made), *check_commands.find_data_commands(made))
    ]
    assert len(commands) == 5 and faults(made) == {}


@pytest.mark.parametrize(
    ("body", "notes", "command", "reason"),
    [
        pytest.param(
            "<code>tools/tls-memtest gate --no-such x</code>",
            [],
            "tools/tls-memtest gate --no-such x",
            "--no-such",
            id="option",
        ),
        pytest.param(
            f"<code>tools/tls-memtest show tables {STALL} --table heap</code>",
            [],
            f"tools/tls-memtest show tables {STALL} --table heap",
            "table heap has no rows",
            id="no-rows",
        ),
        pytest.param(
            f"<code>tools/tls-memtest show mem {REPEAT} -o x --suite tls13-rsa-aes25</code>",
            [],
            f"tools/tls-memtest show mem {REPEAT} -o x --suite tls13-rsa-aes25",
            "there is no suite tls13-rsa-aes25",
            id="name",
        ),
        pytest.param(
            "",
            ["none; to record it: tools/tls-memtest measure mme"],
            "tools/tls-memtest measure mme",
            "mean mem",
            id="note",
        ),
        pytest.param("", ["(make mem N=3)"], "make mem N=3", "N=3", id="target"),
        pytest.param(
            "<p>or tools/tls-memtest measure mem makes both</p>",
            [],
            "tools/tls-memtest measure mem makes both",
            "unrecognized arguments: makes both",
            id="not-apart",
        ),
    ],
)
def test_a_command_that_does_not_run_is_named(tmp_path, body, notes, command, reason):
    found = faults(page(tmp_path, body, notes))
    assert [*found] == [command] and reason in found[command]


def test_commands_of_a_script_are_made_for_each_moment_and_role(tmp_path):
    script = "`tools/tls-memtest heap read x --phase ${quoted(moment)}${of}`; "
    script += "`tools/tls-memtest show ${picture} x -o x --stack ${other}`"
    texts = [one.text for one in check_commands.find_data_commands(page(tmp_path, script=script))]
    roles = ("", " --role client", " --role server")
    moments = [
        f"tools/tls-memtest heap read x --phase {phase}{role}" for role in roles for phase in ("created", "idle")
    ]
    peak = "tools/tls-memtest heap read x --phase 'peak of idle' --role server"
    assert texts == [*moments, peak, "tools/tls-memtest show parts x -o x --stack ${other}"]
    assert "there is no stack ${other}" in faults(page(tmp_path, script=script)).values()


def test_one_run_reads_a_recording_once_for_its_tables():
    head = "tools/tls-memtest show report data/a --format markdown"
    printed = [check_commands.Printed("x", f"{head} --table {name}") for name in ("one", "two", "one")]
    assert [one.text for one in check_commands.merge(printed)] == [f"{head} --table one --table two"]


def test_of_many_commands_those_are_run_that_have_another_recording_or_option():
    def command(recording: str, stack: str, more: str = "") -> check_commands.Printed:
        return check_commands.Printed("x", f"tools/tls-memtest show mem data/{recording} -o x --stack {stack}{more}")

    many = [command("a", "b@1"), command("a", "b@2"), command("c", "b@1"), command("a", "b@3", " --roles split")]
    assert [*check_commands.cover(many, check_commands.parts_to_run)] == [many[0], many[2], many[3]]
