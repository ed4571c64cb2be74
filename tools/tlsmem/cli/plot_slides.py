"""Draw the slides of a talk, 16:9, from recordings: a finding each, of every axis that is recorded."""

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/plot_slides.py data -o docs/slides             from the newest recordings in data/, each as .png and .svg"""


def parser() -> CommandParser:
    return make_parser("plot_slides", __doc__, EXAMPLES)


def main() -> int:
    given = parser().parse_args()
    venv.activate()
    from tlsmem.plots import plot_command
    from tlsmem.slides import draw_slides

    return plot_command.draw_pictures(given, draw_slides.draw_from_arguments)
