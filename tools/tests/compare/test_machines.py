"""Machines of two sides: another path is a reason not to compare, another kernel is none once the path is recorded."""

from tests.support import synthetic
from tlsmem.compare import declared_settings
from tlsmem.report import inventory_section, recordings
from tlsmem.schema import records
from tlsmem.stats.comparability import machine_identity
from tlsmem.tables.settings import describe_machine

PATH = {"vendor": "Maker", "family": "25", "model": "1", "xcr0": "0x7", "libc_build_id": "ab", "page_bytes": 4096}
CONTEXT = {"stepping": "1", "microcode": "0x1", "caches": "L1 Data 32K", "kernel_build": "#1", "mthp": "64kB never"}
CONTEXT |= dict.fromkeys(("overcommit_memory", "cgroup_memory_bytes", "open_files_soft", "open_files_hard"), 0)
CONTEXT |= {"max_map_count": 65530}


def run(flags=None, **changes):
    made = synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 100)
    path = {"path": PATH | {"flags": flags}, "context": CONTEXT} if flags else {}
    fields = made.model_dump(by_alias=True) | {"schema": 6, "machine": made.machine.model_dump() | path | changes}
    return records.RecordLine.model_validate(fields | {"path": records.run_path(fields)})


def differences(old, new):
    return [one.describe(("OLD", "NEW")) for one in declared_settings.find_differences([old], [new])]


def test_another_path_is_named_with_the_flags_that_differ():
    old, new = run("avx2 adx"), run("avx2 avx512f")
    assert differences(old, new) == [
        f"machine path is {old.path} in OLD and {new.path} in NEW",
        "CPU flags is adx in OLD and avx512f in NEW",
    ]
    assert differences(run("avx2"), run("avx2", kernel="6.2.0", os="another", libc="glibc 2.40")) == []


def test_a_record_without_a_path_is_never_silently_of_a_machine_that_has_one():
    old, new = run(), run("avx2")
    assert (old.path, old.machine.path_name) == (None, None)
    assert differences(old, new) == [f"machine path is not recorded in OLD and {new.path} in NEW"]
    assert machine_identity(old.machine) != machine_identity(new.machine)
    assert describe_machine(old).endswith(", path not recorded")
    assert describe_machine(new).endswith(f", path {new.path}")


def test_the_kernel_still_tells_records_without_a_path_apart():
    assert differences(run(), run(kernel="6.2.0")) == ["kernel is 6.1.0 in OLD and 6.2.0 in NEW"]


def test_a_report_tells_paths_apart_and_shows_path_and_context():
    loaded = {"a": [run("avx2 adx"), run("avx2 adx", kernel="6.2.0")], "b": [run("avx2")], "c": [run()]}
    found = list(recordings.by_machine(loaded))
    assert [one.machine for one in found] == ["A", "B", "C"]
    table = inventory_section.machines(found)
    at = {column.key: number for number, column in enumerate(table.columns)}
    assert [row[at["path"]].value for row in table.rows] == [run("avx2 adx").path, run("avx2").path, None]
    assert [row[at["flags"]].value for row in table.rows] == ["avx2 adx", "avx2", None]
    assert "microcode 0x1" in table.rows[0][at["context"]].text and "max_map_count 65530" in table.rows[0][-1].text
    assert table.rows[2][at["path"]].note == "recorded from schema 6 on"
