"""Records of runs: what data/ keeps of a run, one line each, and how it is read back. See docs/records.md."""

import json

from tlsmem.base import venv
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """example:
  tools/records.py --schema > docs/record.schema.json"""


def parser() -> CommandParser:
    return make_parser("records", __doc__, EXAMPLES)


def main() -> None:
    parser().parse_args()
    venv.activate()
    from tlsmem.schema.records import Record

    print(json.dumps(Record.model_json_schema(), indent=2))
