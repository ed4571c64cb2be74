"""Run a campaign of memtest/campaigns.toml and record every run. Recorded runs are skipped."""

import argparse
import signal

from tlsmem.base import venv
from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import option_check, toml_tables
from tlsmem.config.option_parser import CommandParser, make_parser
from tlsmem.config.options import options_of_command

EXAMPLES = """examples:
  tools/measure.py mem                                     the campaign [mem] as it stands
  tools/measure.py mem --n 1000 --suites tls13-rsa-aes256  one suite, at most 1,000 sessions
  tools/measure.py mem --window 100 --out data/local/window      100 pairs in the handshake at a time
  tools/measure.py mem --roles split --n 20000             10,000 server sessions in a process of their own
  tools/measure.py interop                                 every stack against every other
  tools/measure.py throughput --sizes 16,1024,65536        short and long writes
  tools/measure.py handshake --suites tls13-rsa-aes256     one suite of 36, which take a quarter of an hour
  BENCH_MULTIPLIER=0.1 tools/measure.py handshake          a tenth of the rounds: for a try, no figure
  tools/measure.py mem --cluster tls://10.0.0.1:8786 --tls build/cluster.pem       on the machines of a Dask cluster
  tools/measure.py mem --list                              what would run, and what is recorded already
  tools/measure.py --verify                                every built stack and suite once, with 2 sessions

After an interruption, the same command continues. Exit status 1: a run failed; its record says why."""


def parser() -> CommandParser:
    return make_parser("measure", __doc__, EXAMPLES)


def check(given: argparse.Namespace) -> None:
    """Names and numbers. Raises UserError with exit status 2."""
    option_check.check_definitions_or_exit()
    campaigns = toml_tables.read_tables("campaigns")
    if given.campaign not in campaigns:
        near = suggest_nearest(given.campaign, campaigns)
        raise Usage(f"no campaign {given.campaign} in memtest/campaigns.toml{near}")
    goal = option_check.goal_of_campaign(given.campaign)
    names = (option.name for option, _ in options_of_command("measure") if option.is_variable and option.option_strings)
    options = {name: getattr(given, name.lower()) for name in names if name != "FRESH"}
    if goal == option_check.MEMORY:
        options["N"] = options["N"] or str(campaigns[given.campaign]["n"])
    option_check.check_goal_or_exit(goal, options)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGPIPE):  # nothing is lost by dying of them, and harnesses go along
        signal.signal(number, signal.SIG_DFL)
    given = parser().parse_args()
    check(given)
    venv.activate(cluster=bool(given.cluster))
    if given.list and not given.verify:
        from tlsmem.cli import campaign_plan

        campaign_plan.show(given)
        return 0
    from tlsmem.cli import measure_campaign

    return measure_campaign.run(given)
