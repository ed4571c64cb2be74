"""What one TLS session costs in memory: live heap in use, RSS at rest and RSS in use, from the committed recordings.

Nothing is built or measured. A STACK is a library (openssl), which means its newest release, or a stack of
memtest/stacks.toml (openssl@3.5.5). Without one, every library's newest release."""

import signal

from tlsmem.base import venv
from tlsmem.base.errors import raise_user_errors
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/cost.py                                        every library's newest release
  tools/cost.py openssl@3.5.5                          one release: its costs, and the three largest reasons
  tools/cost.py rustls --role server --explain         all that a server session's live heap is for
  tools/cost.py openssl gnutls --format csv
  tools/cost.py gnutls --suite tls13-mldsa65-aes256    one suite: what is recorded, or the command that records it
  tools/cost.py --recorded openssl                     the suites and states in which it is recorded
  tools/cost.py -o docs/figures/server                 every library's newest release as a picture"""


def parser() -> CommandParser:
    return make_parser("cost", __doc__, EXAMPLES)


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    asked = parser()
    given = asked.parse_args()
    if given.output and (given.format or given.recorded):
        asked.error(f"-o writes a picture and {'--format' if given.format else '--recorded'} a table; leave one out")
    if given.recorded and (given.explain or given.page or given.role):
        asked.error("--recorded takes stacks, --suite, --recording and --format only")
    venv.activate(core=True)
    from tlsmem.cost import cost_command
    from tlsmem.schema import recording_files

    with raise_user_errors(given.into):
        cost_command.print_costs(given, asked)
    return 1 if recording_files.skipped_lines else 0
