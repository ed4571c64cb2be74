"""The options of commands that make does not have: those of several commands here, the others by what commands do.
Standard library only.
"""

from tlsmem.config import choices
from tlsmem.config.argument_kinds import ARE_TABLED, HOW, ONE_RECORDING, PATH, TIME_OF_RUN
from tlsmem.config.arguments_of_comparing import COMPARING_ARGUMENTS
from tlsmem.config.arguments_of_measuring import MEASURING_ARGUMENTS
from tlsmem.config.arguments_of_planning import PLANNING_ARGUMENTS
from tlsmem.config.arguments_of_reading import READING_ARGUMENTS
from tlsmem.config.option_kinds import Choice
from tlsmem.config.option_model import PLANS, PLOTS, Option, Words, each

SHARED_ARGUMENTS = (  # of several commands
    Option(
        "recording",
        ONE_RECORDING,
        PATH,
        commands=each("tabulate", *PLOTS, "plot_timing", "plot_versions"),
    ),
    Option(
        "--into",
        "write into this Markdown file, below the same command",
        PATH,
        commands=each("compare", "compare_versions", "cost", "explain_buckets", "gate", "list_stacks", "tabulate")
        | each("names", "dev/prove", *PLANS),
        metavar="FILE",
    ),
    Option(
        "--into",
        "write tables into this Markdown file, below the same command",
        commands=each("inspect_heaptrack"),
        metavar="FILE",
        group=HOW,
    ),
    Option(
        "--output",
        "FILE.png, FILE.svg, or FILE for both",
        PATH,
        commands=each(*PLOTS, "plot_buckets", "plot_versions"),
        flags=("-o", "--output"),
        required=True,
    ),
    Option(
        "--campaign",
        "only runs of this table of memtest/campaigns.toml",
        commands=each("tabulate", *PLOTS, "plot_timing"),
        metavar="NAME",
    ),
    Option(
        "--stack",
        "only this stack; may be repeated; others are compared with the first",
        commands=each("tabulate", "explain_buckets", *PLOTS, "plot_buckets", "plot_timing"),
        repeat=True,
    ),
    Option(
        "--suite",
        "only this suite; may be repeated",
        commands=each(*ARE_TABLED, "explain_buckets", "plot_mem", "plot_releases", "plot_timing"),
        repeat=True,
    ),
    Option("--suite", "the suite, if the recording has several", commands=each("plot_buckets", "plot_stacks")),
    Option("--allocator", "only this allocator; may be repeated", commands=each(*ARE_TABLED), repeat=True),
    Option(
        "--window",
        "only this number of pairs in the handshake at a time, or all; may be repeated",
        commands=each(*ARE_TABLED),
        repeat=True,
    ),
    Option(
        "--roles",
        "only together, split, keep-client or keep-server (only the server sessions are kept; clients are freed); may "
        "be repeated",
        commands=each(*ARE_TABLED, *PLOTS),
        repeat=True,
    ),
    Option(
        "--env",
        "only lab, deployed or deployed-thp; may be repeated",
        commands=each(*ARE_TABLED, "plot_mem"),
        repeat=True,
    ),
    Option(
        "--cpu",
        "only all, no-avx512, no-adx, no-aes or baseline; may be repeated",
        commands=each(*ARE_TABLED, "plot_mem"),
        repeat=True,
    ),
    Option(
        "--stage",
        "the stage for which bytes are shown by bucket",
        Choice(tuple(choices.STAGE_PHASES)),
        commands=each("compare_versions", "plot_versions", default="established"),
    ),
    Option(
        "--timeout",
        "time limit of a run",
        TIME_OF_RUN,
        commands=each("c1m", "measure", "profile_heap", default=Words("by the size of the run")),
        metavar="SECONDS",
    ),
)

# Of one command, or of commands that are alike; in the order of the page of options.
ARGUMENTS = (*MEASURING_ARGUMENTS, *COMPARING_ARGUMENTS, *READING_ARGUMENTS, *PLANNING_ARGUMENTS)
