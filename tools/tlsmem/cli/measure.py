"""Run a campaign of memtest/campaigns.toml and record every run; what is recorded already is not run again."""

import argparse
import signal
import sys

from tlsmem.base import venv
from tlsmem.cli.time_limit import seconds
from tlsmem.config import option_check
from tlsmem.config.options import TIME_MULTIPLIER, TIMED_OPTION_NAMES, TIMED_OPTIONS

EXAMPLES = """examples:
  tools/measure.py mem                                     the campaign [mem] as it stands
  tools/measure.py mem --n 1000 --suites tls13-rsa-aes256  one suite, at most 1,000 sessions
  tools/measure.py mem --window 100 --out data/local/window      100 pairs in the handshake at a time
  tools/measure.py mem --roles split --n 20000             10,000 server sessions in a process of their own
  tools/measure.py interop                                 every stack against every other
  tools/measure.py throughput --sizes 16,1024,65536        short and long writes
  tools/measure.py handshake --suites tls13-rsa-aes256     one suite of 36, which take a quarter of an hour
  BENCH_MULTIPLIER=0.1 tools/measure.py handshake          a tenth of the rounds: for a try, no figure
  tools/measure.py mem --list                              what would run, and what is recorded already
  tools/measure.py --verify                                every built stack and suite once, with 2 sessions

Stopped half-way, the same command goes on where it stopped. Exit 1 when a run failed; its record says why."""


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("campaign", nargs="?", default="mem", help="a table of memtest/campaigns.toml (default: mem)")
    for knob, meaning in (option_check.MEMORY_OPTIONS | options_of_time()).items():
        if knob == "FRESH":
            made.add_argument("--fresh", action="store_true", help="measure again what has been measured")
        else:
            made.add_argument(f"--{knob.lower()}", metavar=knob, help=meaning)
    made.add_argument("--timeout", type=seconds, metavar="SECONDS", help="time limit of a run (default: by its size)")
    made.add_argument("--list", action="store_true", help="print the runs and which are recorded; run nothing")
    made.add_argument("--verify", action="store_true", help="every built stack and suite, 2 sessions; record nothing")
    return made


def options_of_time() -> dict[str, str]:
    return {knob: meaning for knob, meaning in TIMED_OPTIONS.items() if knob != TIME_MULTIPLIER}


def check(arguments: argparse.Namespace) -> None:
    """Names and numbers: exits with 2 and a sentence."""
    option_check.check_options_or_exit({})
    campaigns = option_check.read_tables("campaigns")
    if arguments.campaign not in campaigns:
        near = option_check.suggest_nearest(arguments.campaign, campaigns)
        print(f"memtest: no campaign {arguments.campaign} in memtest/campaigns.toml{near}", file=sys.stderr)
        sys.exit(2)
    knobs = {
        knob: getattr(arguments, knob.lower())
        for knob in (*option_check.MEMORY_OPTIONS, *options_of_time())
        if knob != "FRESH"
    }
    given = {knob: value for knob, value in knobs.items() if value is not None}
    option_check.check_options_or_exit(given, TIMED_OPTION_NAMES.get(campaigns[arguments.campaign]["scenario"]))


def main() -> None:
    for number in (signal.SIGINT, signal.SIGPIPE):  # nothing is lost by dying of them, and harnesses go along
        signal.signal(number, signal.SIG_DFL)
    given = parser().parse_args()
    check(given)
    venv.activate()
    if given.list and not given.verify:
        from tlsmem.cli import campaign_plan

        campaign_plan.show(given)
        return
    from tlsmem.cli import measure_campaign

    measure_campaign.run(given)
