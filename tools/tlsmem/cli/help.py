"""tls-memtest help: what commands and options there are, as text, as Markdown, and to complete words in a shell."""

import argparse
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import takewhile

from tlsmem.base import markdown_embedding, stdout
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.cli.command import NONE, PROGRAM, Command, CommandParser, each
from tlsmem.cli.kinds import Choice, Flag, Names
from tlsmem.cli.options import OPTIONS, REQUIRED, Default, Option, default_text
from tlsmem.cli.registry import GROUPS, all_commands, describe_group, find_command, group_commands
from tlsmem.config.toml_tables import read_tables
from tlsmem.config.topic import topics

WIDTH = 118
INDENT = 20
OF_HELP = ("topic", "reference", "into")
EXAMPLES = f"""examples:
  tools/{PROGRAM} cost openssl                       what one session costs
  tools/{PROGRAM} plan memory --connections 100000   what many need
  tools/{PROGRAM} plan memory --connections 100000 --as nginx    the same for a server
  tools/{PROGRAM} heap run -- nginx -g 'daemon off;' the heap of your own program
  tools/{PROGRAM} show tables data/2026-11-26-amd-epyc-p355e-advisories --table advisories    memory CVEs
  tools/{PROGRAM} measure mem --n 1000               measure here

`tools/{PROGRAM} COMMAND --help` shows the options of a command. docs/questions.md: which command answers what."""


def front_page() -> str:
    """What `tls-memtest --help` says. Commands whose last word is an option are called by make and by shells."""
    lines = [f"usage: {PROGRAM} COMMAND ...", "", "What a TLS session costs in memory.", "", "commands:"]
    for group, about in GROUPS.items():
        lines.append(f"  {group:<10}{about}")
        for one in group_commands(group):
            word = one.words.removeprefix(group).strip()
            if word and not word.startswith("--"):
                lines.append(f"    {word:<22}{one.summary}")
    return "\n".join([*lines, "", EXAMPLES])


def group_page(group: str) -> str:
    """What `tls-memtest GROUP --help` says where only its commands can be called."""
    module = import_module(f"tlsmem.cli.{group}")
    about = getattr(module, "ABOUT", f"{GROUPS[group][0].upper()}{GROUPS[group][1:]}.")
    lines = [f"usage: {PROGRAM} {group} COMMAND ...", "", about, "", "commands:"]
    lines += [f"  {one.words:<24}{one.summary}" for one in group_commands(group)]
    return "\n".join([*lines, "", f"`{PROGRAM} {group} COMMAND --help` shows the options of one."])


def target_page(command: Command) -> str:
    """The options of a make target, as `make help` has them."""
    return "\n".join(
        line
        for key, default in command.takes.items()
        if "=" in OPTIONS[key].example
        for line in paragraph(OPTIONS[key], default)
    )


def make_page() -> str:
    """The make targets with options, and their options: what `make help` shows below the other targets."""
    lines, taken = [], dict[str, dict[str, list[str]]]()
    for one in sorted((one for one in all_commands() if one.target), key=lambda one: one.words.startswith("dev")):
        own = textwrap.wrap(" ".join(one.variables()), WIDTH - INDENT)
        lines += [f"  {one.target:<{INDENT - 2}}{one.summary}" if one.words else f"  {one.target}"]
        lines += [f"{' ' * INDENT}{line}" for line in own]
        for key, default in one.takes.items():
            if "=" in OPTIONS[key].example:
                taken.setdefault(key, {}).setdefault(default_text(default), []).append(one.target)
    options = [line for key, defaults in taken.items() for line in paragraph(OPTIONS[key], join_defaults(defaults))]
    return "\n".join(["targets with options:", *lines, "", "options:", *options])


def join_defaults(defaults: dict[str, list[str]]) -> str:
    """`10000 (mem); 200 (compare)`; the default alone where it is everywhere the same."""
    if len(defaults) == 1:
        return next(iter(defaults))
    return "; ".join(f"{text} ({', '.join(names)})" for text, names in defaults.items())


def paragraph(option: Option, default: Default) -> Iterator[str]:
    indent = " " * INDENT
    yield f"  {option.example.partition('=')[0]:<{INDENT - 2}}{option.help}"
    yield f"{indent}{option.kind.describe().replace('`', '')}; for instance {option.example}"
    for line in textwrap.wrap(f"default: {default_text(default) or '0'}", WIDTH - INDENT, break_on_hyphens=False):
        yield indent + line


def reference_text() -> str:
    """docs/reference/options.md, below its heading."""
    targets = [
        (f"`make {one.target}`", command_name(one), " ".join(one.variables())) for one in all_commands() if one.target
    ]
    parts = ["## Targets of make", "", *markdown_table(("target", "command", "options"), targets)]
    for command in all_commands():
        rows = [option_row(OPTIONS[key], default) for key, default in command.takes.items()]
        if command.words and rows:
            heading = ("option", "meaning", "values", "default")
            parts += [
                "",
                f"## {command_name(command).strip('`')}",
                "",
                f"{command.summary[0].upper()}{command.summary[1:]}.",
                "",
            ]
            parts += markdown_table(heading, rows)
    return "\n".join(parts)


def command_name(command: Command) -> str:
    """Return how the command of a make target is called: a developers' one is a script of tools/dev, or nothing."""
    if command.run:
        return f"`{command.words}`"
    return f"`tools/{command.words.replace(' ', '/')}.py`" if command.words else ""


def option_row(option: Option, default: Default) -> tuple[str, ...]:
    names = option.flags if not option.is_positional else (str(option.metavar or option.flag),)
    shown = "required" if default is REQUIRED else default_text(default)
    values = "given or not" if isinstance(option.kind, Flag) else option.kind.describe()
    return ", ".join(f"`{name}`" for name in names), option.help, values, shown


def markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def show(given: argparse.Namespace, asked: CommandParser) -> None:
    deliver(reference_text() if given.reference else page_of(given.topic), given, asked)


def topics_page() -> str:
    """Return the topics as a Markdown table: docs/reference/topics.md, below its heading."""
    rows = (
        (topic.question, names(topic.campaigns), names(table.name for table in topic.tables), f"`docs/{topic.page}`")
        for topic in topics()
    )
    return "\n".join(markdown_table(("question", "campaigns", "tables", "page"), rows))


def names(several: Iterable[str]) -> str:
    """Return names as code, with commas."""
    return ", ".join(f"`{name}`" for name in several)


def deliver(text: str, given: argparse.Namespace, asked: CommandParser) -> None:
    """Print the text, or write it into a page."""
    if given.into:
        with raise_user_errors(given.into):
            markdown_embedding.replace_block(given.into, given, asked, text)
        return
    with stdout.raise_write_errors():
        print(text)


def refuse_options(step: Callable[[], int | None], words: Sequence[str]) -> int | None:
    """Run a step. Raises UserError where an option stands after the command whose help is asked for."""
    words = words[: words.index("--")] if "--" in words else words
    own = {"-h", "--help", *(flag for key in OF_HELP for flag in OPTIONS[key].flags)}
    topic = [*takewhile(lambda word: not word.startswith("-"), words)]
    flags = (word.partition("=")[0] for word in words[len(topic) :] if word.startswith("-"))
    option = next((flag for flag in flags if flag not in own), "")
    if not topic or not option:
        return step()
    page_of(topic)
    if topic[0] == "make":
        way_out = f"`{PROGRAM} help {' '.join(topic)}`"
    else:
        way_out = f"`{PROGRAM} {' '.join(topic)}{f' {option}' * is_command([*topic, option])} --help`"
    raise UserError(f"help takes a command, and {option} is an option; {way_out} shows what there is", 2)


def is_command(words: Sequence[str]) -> bool:
    return any(one.words.split() == words for one in group_commands(words[0]))


def page_of(topic: Sequence[str]) -> str:
    """Return the help of a command, of a make target (`make mem`), of make, of topics, or of everything."""
    if not topic:
        return front_page()
    if topic == ["topics"]:
        return topics_page()
    if topic[0] == "make":
        targets = {one.target: one for one in all_commands() if one.target}
        if len(topic) == 1:
            return make_page()
        if topic[1] not in targets:
            raise UserError(f"make has no target {topic[1]} with options; there are: {', '.join(targets)}", 2)
        if topic[2:]:
            raise UserError(f"`help make {topic[1]}` takes no further word; leave {' '.join(topic[2:])} out", 2)
        return target_page(targets[topic[1]])
    if topic[0] in GROUPS and len(topic) == 1 and all(one.words != topic[0] for one in group_commands(topic[0])):
        return group_page(topic[0])
    command, rest = find_command(topic)
    if rest and command.words == topic[0] and len(group_commands(topic[0])) > 1:
        raise UserError(describe_group(topic[0], topic[1:]), 2)
    if rest:
        raise UserError(f"`help {command.words}` takes no further word; leave {' '.join(rest)} out", 2)
    return command.parser().format_help().rstrip()


# Completion: each shell asks this program what may follow the words so far.

ASK = "help --words --"
SCRIPTS = {
    "bash": f"""_tls_memtest() {{
    local line="${{COMP_LINE:0:COMP_POINT}}" words cut
    read -ra words <<< "$line" # COMP_WORDS is split at @, = and :, which stand in names
    [[ "$line" == *" " ]] && words+=("")
    cut="${{words[-1]%"${{COMP_WORDS[COMP_CWORD]}}"}}"
    [[ "$line" == *[@=:] ]] && cut="${{words[-1]}}"
    local IFS=$'\\n'
    COMPREPLY=($("${{words[0]}}" {ASK} "${{words[@]:1}}" 2>/dev/null))
    COMPREPLY=("${{COMPREPLY[@]#"$cut"}}")
}}
complete -o default -F _tls_memtest tls-memtest tools/tls-memtest""",
    "zsh": f"""#compdef tls-memtest
_tls_memtest() {{
    local -a found
    found=(${{(f)"$($words[1] {ASK} "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}})
    (( $#found )) && compadd -a found || _files
}}
compdef _tls_memtest tls-memtest""",
    "fish": f"complete -c tls-memtest -a '({PROGRAM} {ASK} (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'",
}


def print_completion(given: argparse.Namespace, asked: CommandParser) -> None:
    with stdout.raise_write_errors():
        print(SCRIPTS[given.shell])


def print_words(given: argparse.Namespace, asked: CommandParser) -> None:
    with stdout.raise_write_errors():
        print(*following_words(given.command), sep="\n")


def following_words(words: Sequence[str]) -> list[str]:
    """Return what may stand in the place of the last of these words: commands, options, or values of one."""
    before, begun = list(words[:-1]), words[-1] if words else ""
    if begun.startswith("--") and "=" in begun:
        flag, _, value = begun.partition("=")
        return [f"{flag}={one}" for one in following_words([*before, flag, value])]
    found = dict.fromkeys(next_parts(before))
    try:
        command, after = find_command(before)
    except UserError:
        return [one for one in found if one.startswith(begun)]
    last = next((OPTIONS[key] for key in command.takes if after and after[-1] in OPTIONS[key].flags), None)
    if last and not isinstance(last.kind, Flag) and last.nargs is None:
        return [one for one in values_of(last) if one.startswith(begun)]
    options = (OPTIONS[key] for key in command.takes)
    for option in options:
        found |= dict.fromkeys(values_of(option) if option.is_positional else option.flags)
    return [one for one in found if one.startswith(begun) and (begun.startswith("-") or not one.startswith("-"))]


def next_parts(before: Sequence[str]) -> Iterator[str]:
    """Yield the words of commands that begin with these."""
    if not before:
        yield from GROUPS
    elif before[0] in GROUPS:
        for command in group_commands(before[0]):
            own = command.words.split()
            if own[: len(before)] == list(before) and len(own) > len(before):
                yield own[len(before)]


def values_of(option: Option) -> list[str]:
    """Return the values of an option that has names."""
    if isinstance(option.kind, Choice):
        return list(option.kind.values)
    if option is OPTIONS["topic"]:
        return [*GROUPS, "make", "topics"]
    kind = {"stacks": "stacks", "stack": "stacks", "suite": "suites", "suites": "suites", "campaign": "campaigns"}
    table = f"{option.kind.table}s" if isinstance(option.kind, Names) else kind.get(option.name, "")
    try:
        return list(read_tables(table)) if table else []
    except ValueError:
        return []


COMMANDS = (
    Command(
        "help completion",
        "print what a shell needs to complete words: bash, zsh or fish",
        {"shell": None},
        print_completion,
        """Print a script that completes commands, options and their values in a shell.

bash: add `source <(tls-memtest help completion bash)` to ~/.bashrc
zsh:  add `source <(tls-memtest help completion zsh)` to ~/.zshrc, after compinit
fish: tls-memtest help completion fish > ~/.config/fish/completions/tls-memtest.fish""",
        "  tools/tls-memtest help completion bash",
        packages=NONE,
    ),
    Command(
        "help --words", "print what may follow words, for a shell", {}, print_words, packages=NONE, splits_command=True
    ),
    Command(
        "help",
        "show what a command, or a make target, takes",
        each(*OF_HELP),
        show,
        examples="""\
  tools/tls-memtest help plan memory
  tools/tls-memtest help make                 what make's targets take
  tools/tls-memtest help make compare
  tools/tls-memtest help topics               what is measured beside the cost of a session, and what shows it
  tools/tls-memtest help --reference --into docs/reference/options.md       that page again""",
        packages=NONE,
        around=refuse_options,
    ),
)
