"""Every option of make and of the commands in tools/: name, meaning, values, defaults, and who takes it.

The entries stand in option_variables.py (of make) and option_arguments.py (of commands alone, with its
arguments_of_*.py), and nowhere else. From them come the check before anything is installed (option_check.py), the
parsers (option_parser.py), `--help`, `make help`, what each target of make takes (build/options.mk) and
docs/reference/options.md. Standard library only.
"""

from tlsmem.config.option_arguments import ARGUMENTS, SHARED_ARGUMENTS
from tlsmem.config.option_model import GOALS, Default, Option
from tlsmem.config.option_variables import VARIABLES

OPTIONS = (*VARIABLES, *SHARED_ARGUMENTS, *ARGUMENTS)


def options_of_goal(goal: str) -> dict[str, Option]:
    """The variables that a target of make takes, by name."""
    return {option.name: option for option in OPTIONS if goal in option.goals}


def goals_of_command(command: str) -> list[str]:
    return [goal for goal, called in GOALS.items() if called == command]


def options_of_command(command: str) -> list[tuple[Option, Default]]:
    """The options of tools/COMMAND.py, each with its default; None where several targets of make have several."""
    goals, taken = goals_of_command(command), []
    for option in OPTIONS:
        defaults = [option.goals[goal] for goal in goals if goal in option.goals]
        if command in option.commands:
            taken.append((option, option.commands[command]))
        elif defaults:
            taken.append((option, defaults[0] if len(goals) == 1 else None))
    return taken
