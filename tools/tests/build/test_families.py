"""The files in harness-c/families/: each is compiled with a driver, and a header has no code of its own."""

import re

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.config.definitions import stacks

FAMILIES = ROOT / "harness-c/families"
# A variable that can change, or a function that is not inline.
OWN_CODE = re.compile(r"^(?!static inline)(?:static (?!const\b).*|\w[\w *]*\([^;{]*\)\n\{)", re.MULTILINE)


def find_own_code(header):
    return [found[0] for found in OWN_CODE.finditer(header)]


def test_each_file_is_in_the_list_of_a_stack_and_each_list_has_files_that_are_there():
    listed = {name for stack in stacks().values() for name in stack.family}
    assert listed == {file.stem for file in FAMILIES.glob("*.c")}


@pytest.mark.parametrize("header", sorted(FAMILIES.glob("*.h")), ids=lambda file: file.name)
def test_a_header_has_declarations_and_inline_functions_only(header):
    assert find_own_code(header.read_text()) == []


@pytest.mark.parametrize(
    "code", ["static int count;\n", "static void *made(void)\n{\n}\n", "int made(int one,\n         int two)\n{\n}\n"]
)
def test_code_in_a_header_is_found(code):
    declared = (
        'struct one;\nint made(int one);\nstatic inline int two(void)\n{\n    return 2;\n}\nextern "C" int three;\n'
    )
    assert len(find_own_code(declared + code + declared)) == 1
    assert find_own_code(declared) == []
