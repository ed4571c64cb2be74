"""Records of runs: what data/ keeps of a run, one line each, and how it is read back. See docs/records.md."""

import argparse
import json

from tlsmem.base import venv


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--schema", action="store_true", required=True, help="print the JSON schema of a record")
    return made


def main() -> None:
    parser().parse_args()
    venv.activate()
    from tlsmem.schema.records import Record

    print(json.dumps(Record.model_json_schema(), indent=2))
