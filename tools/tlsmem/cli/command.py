"""What a command is: its words, its options and what runs it; and the parser that is made of that. Standard library
only."""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

from tlsmem.base import stdout
from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.cli.kinds import Choice, Flag
from tlsmem.cli.options import OPTIONS, REQUIRED, CampaignDefault, Default, Option, Words, default_text
from tlsmem.config.scenarios import describe_key
from tlsmem.config.suite_variants import SuiteInWords
from tlsmem.config.toml_tables import read_tables

PROGRAM = "tls-memtest"
NONE, CORE, ALL, CLUSTER = "none", "core", "all", "cluster"  # which Python packages a command needs
VARIABLE = re.compile(r"([A-Z][A-Z_]*)=(.*)", re.DOTALL)  # an option as make has it
ANY_CASE = re.compile(r"([A-Za-z_]+)=.*", re.DOTALL)

MISSING = "the following arguments are required: "  # as argparse begins, whose other sentences name no way out
IN_OTHER_WORDS = {
    r"argument (?:-\w/)?(\S+): expected (?:one|at least one) argument": r"\1 needs a value",
    r"argument (?:-\w/)?(\S+): expected (\d+) arguments": r"\1 needs \2 values",
    r"argument (?:-\w/)?(\S+): ignored explicit argument (.*)": r"\1 takes no value; leave \2 out",
    r"argument (?:-\w/)?(\S+): not allowed with argument (?:-\w/)?(\S+)": r"\1 and \2 exclude each other",
}

IN_WORDS = ("mtls", "pq", "pq cert", "ecdsa", "tls12")  # options that choose a suite, by their keys in options.py
Takes = dict[str, Default]  # options by their keys in options.py, each with its Default
TREES: Takes = {  # what builds of a library's own tree take
    "prefix": Words("none"),
    "git": Words("the clone of a directory given as path:, else the current one"),
    "like": Words("the newest release that is not newer than the tree"),
}


def each(*keys: str, default: Default = None) -> Takes:
    """These options, all with the same default."""
    return dict.fromkeys(keys, default)


def campaign_default(key: str, campaign: str = "mem", otherwise: str = "", is_set: bool = False) -> CampaignDefault:
    return CampaignDefault(campaign, key, otherwise, is_set)


class CommandParser(argparse.ArgumentParser):
    """What an option cannot be ends with one sentence and exit status 2, with the nearest option that there is."""

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.known_elsewhere: Callable[[str], str] = lambda flag: ""  # which commands have an option that is not here
        self.complete: Callable[[argparse.Namespace], None] = lambda given: None  # what options together mean
        self.called: dict[str, str] = {}  # flags that were given as make has them, by these names
        self.options: dict[str, Option] = {}  # by the names that sentences of argparse have
        self.splits_command = False
        self.for_make = False  # the words were typed after `make`

    @property
    def is_of_make(self) -> bool:
        return self.for_make or bool(self.called)

    def name_options(self, option: Option, others: Iterable[Option]) -> tuple[str, list[str]]:
        """Return an option's name, and those of others, as flags or as make has them: as the option was given."""
        if option.flag in self.called:
            return self.called[option.flag], [one.variable for one in others if "=" in one.example]
        return option.flag, [one.flag for one in others if not one.is_positional]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it, but what is not known ends here."""
        given, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.refuse_unknown(unknown)
        self.complete(given)
        return given, unknown

    def error(self, message: str) -> NoReturn:
        """Raise a UserError with the sentence alone: the usage of a command with thirty options would hide it."""
        if missing := message.removeprefix(MISSING) if message.startswith(MISSING) else "":
            found = [self.options[name].describe_missing(self.is_of_make) for name in missing.split(", ")]
            raise UserError("; ".join(found) if self.is_of_make else f"{self.prog}: {'; '.join(found)}", 2)
        for pattern, words in IN_OTHER_WORDS.items():
            message = re.sub(pattern, words, message)
        raise UserError(f"{self.prog}: {message}", 2)

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        if self.splits_command and not words[0].startswith("-"):
            self.error(f"put -- before the command: -- {' '.join(words)}")
        first = next((word.partition("=")[0] for word in words if word.startswith("-") and word != "--"), "")
        near = self.known_elsewhere(first) or suggest_nearest(first, known) if first else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{near or f'; `{self.prog} --help` lists what it takes'}")


@dataclass(frozen=True)
class Command:
    """One command of tls-memtest, or what a target of make alone takes."""

    words: str  # as they stand on the command line: "show tables"
    summary: str  # in lists of commands
    takes: Takes
    run: Callable[[argparse.Namespace, CommandParser], int | None] | None = None
    about: str = ""  # what --help says first; the summary, if nothing
    examples: str = ""
    check: Callable[[argparse.Namespace, CommandParser], None] | None = None  # before any package is needed
    packages: str = ALL
    target: str = ""  # of make, which passes its options on
    campaigns: tuple[str, ...] = ()  # of memtest/campaigns.toml, that it measures
    splits_command: bool = False  # what stands after -- is a command of the user's own, in given.command
    streams: str = ""  # the option with which it prints as it goes on, and so past the pager
    around: Callable[[Callable[[], int | None], Sequence[str]], int | None] | None = None  # runs it

    @property
    def is_answer(self) -> bool:
        """Whether it prints an answer, which has formats and may go to a file."""
        return not {"output text", "output picture"}.isdisjoint(self.takes)

    @property
    def draws(self) -> bool:
        """Whether -o may also be a picture."""
        return "output picture" in self.takes

    @property
    def options(self) -> list[Option]:
        return [OPTIONS[key] for key in self.takes]

    def option_of_variable(self, name: str) -> Option | None:
        """Return the option that make calls so."""
        return next((one for one in self.options if name in variables_of(one)), None)

    def parser(self) -> CommandParser:
        """Return a parser of the words after the command's own."""
        stdout.write_plain_signs()
        made = CommandParser(
            prog=f"{PROGRAM} {self.words}".rstrip(),
            description=self.about or f"{self.summary[0].upper()}{self.summary[1:]}.",
            epilog=f"examples:\n{self.examples}" if self.examples else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if "mtls" in self.takes:
            made.complete = partial(choose_suite, several="only suite" in self.takes)
        if self.splits_command:
            made.splits_command = True
            made.usage = f"{made.prog} [options] -- COMMAND [ARGUMENT ...]"
        if self.campaigns:
            made.set_defaults(campaigns=self.campaigns)
        groups: dict[str, Any] = {}
        for key, default in self.takes.items():
            made.options[name_in_argparse(OPTIONS[key])] = OPTIONS[key]
            add_option(container_of(OPTIONS[key], made, groups), OPTIONS[key], default, made.called)
        return made

    def parse(self, words: Sequence[str], parser: CommandParser | None = None) -> argparse.Namespace:
        """Return the values of these words. Raises UserError with a sentence, status 2."""
        made, own = parser or self.parser(), []
        words = list(words)
        if self.splits_command and "--" in words:
            words, own = words[: words.index("--")], words[words.index("--") + 1 :]
        given = made.parse_args([*self.translate(words, made.called)])
        if self.splits_command:
            given.command = own
        return given

    def translate(self, words: Iterable[str], called: dict[str, str]) -> Iterator[str]:
        """Yield the words; options as make has them (`N=10000`) as flags. Raises UserError for one that is not there,
        if the command is one of make's."""
        for word in words:
            found = VARIABLE.fullmatch(word)
            option = self.option_of_variable(found[1]) if found else None
            if found and option:
                called[option.flag] = found[1]
                yield from flag_words(option, *found.groups())
            elif found and self.target:
                raise UserError(self.refuse_variable(found[1]), 2)
            elif "target options" in self.takes:
                yield word
            elif found and any(found[1] in variables_of(one) for one in OPTIONS.values()):
                more = f"`{PROGRAM} {self.words} --help` lists what it takes"
                raise UserError(f"{PROGRAM} {self.words} does not take {word}; {more}", 2)
            elif (other := ANY_CASE.fullmatch(word)) and self.option_of_variable(other[1].upper()):
                raise UserError(f"{word}: options of make are in capitals: {other[1].upper()}=", 2)
            else:
                yield word

    def refuse_variable(self, name: str) -> str:
        """Return a sentence about an option of make that this command does not take."""
        own = {variable for key in self.takes for variable in variables_of(OPTIONS[key])}
        if any(name in variables_of(option) for option in OPTIONS.values()):
            hint = suggest_nearest(name, own) or f"; it takes {', '.join(self.variables()) or 'none'}"
            return f"`make {self.target}` does not take {name}{hint}"
        near = describe_key(name.lower()) or suggest_nearest(name.upper(), own)
        return f"unknown option {name}; `make help` lists options{near}"

    def variables(self) -> list[str]:
        """Return the options as make takes them, those with an example: the others are of the command line."""
        return [OPTIONS[key].example.partition("=")[0] for key in self.takes if "=" in OPTIONS[key].example]


def choose_suite(given: argparse.Namespace, several: bool) -> None:
    """Put the suite that was asked for in words in the place of its name, or of the list of names. Raises UserError."""
    said = [OPTIONS[key].flag for key in IN_WORDS if getattr(given, OPTIONS[key].name)]
    if not said:
        return
    key = "mldsa65" if given.pq_cert else "ecdsa" if given.ecdsa else "rsa"
    name = f"{'tls12' if given.tls12 else 'tls13'}-{key}-aes256{'-pq' * given.pq}{'-mutual' * given.mtls}"
    option = "suites" if hasattr(given, "suites") else "suite"
    if getattr(given, option):
        raise UserError(f"{' '.join(said)} and --{option} both choose a suite; leave one out", 2)
    known = read_tables("suites")
    if name not in known or (given.pq_cert and given.ecdsa):
        near = suggest_nearest(name, known)
        raise UserError(f"{' '.join(said)}: memtest/suites.toml has no such suite{near}", 2)
    setattr(given, option, [SuiteInWords(name)] if several else [name] if option == "suites" else SuiteInWords(name))


def variables_of(option: Option) -> tuple[str, ...]:
    """Return the names by which make may give the option."""
    return tuple(flag.lstrip("-").replace("-", "_").upper() for flag in (option.flag, option.alias) if flag)


def flag_words(option: Option, name: str, value: str) -> Iterator[str]:
    """Yield the words of the command line for an option as make has it."""
    if isinstance(option.kind, Flag):
        try:
            if option.kind.parse(name, value):
                yield option.flag
        except ValueError as error:
            raise UserError(str(error), 2) from None
    elif option.is_positional:
        yield from value.split()
    else:
        yield f"{option.flag}={value}"


def container_of(option: Option, parser: argparse.ArgumentParser, groups: dict[str, Any]) -> Any:
    """The parser, or the group that the option stands in."""
    if option.exclusive:
        if option.exclusive not in groups:
            groups[option.exclusive] = parser.add_mutually_exclusive_group()
        return groups[option.exclusive]
    if option.group:
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        return groups[option.group]
    return parser


def add_option(to: Any, option: Option, default: Default, called: Mapping[str, str]) -> None:
    """Add the option. A default that is described, or a campaign's, is shown and not set."""
    about = option.help if default in (None, REQUIRED) else f"{option.help} (default: {default_text(default)})"
    words: dict[str, Any] = {"help": about.replace("%", "%%")}
    if isinstance(option.kind, Flag):
        words["action"] = "store_true" if option.const is None else "store_const"
    else:
        words |= {"type": parser_of(option, called), "default": default_value(default), "metavar": metavar_of(option)}
        words |= {"action": "append"} if option.repeat else {}
    words |= {name: found for name in ("nargs", "const") if (found := getattr(option, name)) is not None}
    if option.is_positional:
        to.add_argument(option.flag, **words)
    else:
        to.add_argument(*option.flags, required=default is REQUIRED, dest=option.name, **words)


def default_value(default: Default) -> str | None:
    """Return what is set where the option is not given: nothing, if the default is described or a campaign's own."""
    is_set = default.is_set if isinstance(default, CampaignDefault) else not isinstance(default, Words)
    return default_text(default) if default is not None and is_set else None


def name_in_argparse(option: Option) -> str:
    return str(metavar_of(option) or option.flag) if option.is_positional else "/".join(option.flags)


def metavar_of(option: Option) -> str | tuple[str, ...] | None:
    if option.metavar is not None:
        return option.metavar
    return f"{{{','.join(option.kind.values)}}}" if isinstance(option.kind, Choice) else None


def parser_of(option: Option, called: Mapping[str, str]) -> Callable[[str], object]:
    """Return what makes a value of a word, and raises UserError with a sentence for a wrong one.

    `called` has the names of options that were given as make has them: the sentence has the name that was given."""

    def parse(word: str) -> object:
        try:
            return option.kind.parse(called.get(option.flag, option.shown), word)
        except ValueError as error:
            raise UserError(str(error), 2) from None

    return parse
