"""The options of commands that compare builds and releases, and of the gate. Standard library only."""

from tlsmem.config import choices
from tlsmem.config.argument_kinds import ONE_RECORDING, PATH, SIZE
from tlsmem.config.option_kinds import Choice, Flag
from tlsmem.config.option_model import Option, Words, each

COMPARING_ARGUMENTS = (
    # compare, compare_builds, compare_versions, explain_buckets
    Option(
        "recording",
        "OLD and NEW; with --by one recording will do",
        commands=each("compare"),
        nargs="+",
        metavar="RECORDING",
    ),
    Option(
        "--by",
        f"compare two parts of one recording: an aspect ({', '.join(choices.ASPECTS)}), and its value on each side",
        commands=each("compare"),
        nargs=3,
        metavar=("ASPECT", "OLD", "NEW"),
    ),
    Option(
        "--force",
        "compare even if declared settings differ, and name the differences",
        Flag(),
        commands=each("compare"),
    ),
    Option(
        "--stack",
        "only this stack, may be repeated; OLD=NEW where it has another name in each",
        commands=each("compare"),
        repeat=True,
    ),
    Option(
        "--role",
        "only figures of this; may be repeated",
        Choice(choices.HOLDERS),
        commands=each("compare"),
        repeat=True,
    ),
    Option(
        "--meter",
        "only figures of this; may be repeated",
        Choice(tuple(choices.METERS)),
        commands=each("compare"),
        repeat=True,
    ),
    Option(
        "--phase",
        f"ends of these phases, may be repeated; `{choices.ALL_PHASES}`: of every phase",
        commands={"compare": Words(", ".join(choices.COMPARED_STAGES))},
        repeat=True,
    ),
    Option("--bisect", "exit 0, 1 or 125, for `git bisect run`", Flag(), commands=each("compare_builds")),
    Option(
        "--at-least",
        "the exit status counts only changes of at least this many bytes a session",
        SIZE,
        commands=each("compare_builds"),
        metavar="SIZE",
    ),
    Option(
        "--site",
        "the exit status counts only live heap whose call stack has this function",
        commands=each("compare_builds"),
        metavar="NAME",
    ),
    Option("--worse-only", "the exit status counts only what got worse", Flag(), commands=each("compare_builds")),
    Option("recording", ONE_RECORDING, PATH, commands=each("compare_versions"), nargs="?"),
    Option(
        "--roles",
        "use runs with both roles in one process, or with a process for each",
        Choice(choices.PROCESSES_OF_ROLES),
        commands={"compare_versions": Words("what most releases have")},
    ),
    Option(
        "--table",
        "only this table; may be repeated",
        Choice(choices.RELEASE_TABLES),
        commands=each("compare_versions"),
        repeat=True,
    ),
    Option(
        "recording",
        "a recording below data/, or one profile for each stack",
        PATH,
        commands=each("explain_buckets"),
        nargs="+",
    ),
    # gate
    Option("budget", "a file of budgets: docs/how-to/ci.md", PATH, commands=each("gate"), metavar="BUDGET.toml"),
    Option(
        "--recording",
        "judge this recording, and measure nothing",
        PATH,
        commands=each("gate"),
        metavar="DIR",
        exclusive="where",
    ),
    Option(
        "--out",
        "keep what is measured",
        PATH,
        commands={"gate": Words("a temporary directory")},
        metavar="DIR",
        exclusive="where",
    ),
    Option(
        "--new-baseline",
        "measure into DIR, and judge nothing",
        PATH,
        commands=each("gate"),
        metavar="DIR",
        exclusive="where",
    ),
    Option("--list", "print the runs that would be made", Flag(), commands=each("gate"), exclusive="where"),
    Option(
        "--git",
        "the clone that has the commits of stacks @git:REF",
        PATH,
        commands=each("gate"),
        metavar="DIR",
    ),
    Option("--junit", "write JUnit XML too", PATH, commands=each("gate"), metavar="FILE"),
    Option(
        "--summary",
        "append a summary in Markdown to this file too",
        PATH,
        commands=each("gate"),
        metavar="FILE",
    ),
)
