"""A wheel is of one state of the package, and has runs of real servers whole."""

from backports import zstd

import build_wheel
from tests.support.live import live_record


def test_a_sealed_file_is_copied_with_all_that_its_lines_have(tmp_path):
    """Memory over time and malloc's chunks too: queries and tables of an installed package answer from them."""
    lines = b"".join(live_record(count, malloc=True).to_json_line() for count in (10, 20))
    assert b'"malloc":{' in lines and b'"elapsed_s":[' in lines
    file, to = tmp_path / "data/live/nginx.jsonl.zst", tmp_path / "published/live/nginx.jsonl.zst"
    file.parent.mkdir(parents=True)
    file.write_bytes(zstd.compress(lines, 1))
    build_wheel.copy(file, to)
    assert zstd.decompress(to.read_bytes()) == lines
    assert to.stat().st_size < file.stat().st_size


def test_a_package_that_has_changed_has_another_digest(monkeypatch, tmp_path):
    file = tmp_path / "module.py"
    file.write_text("SIZE = 1\n")
    monkeypatch.setattr(build_wheel, "list_package", lambda: [file])
    before = build_wheel.digest_package()
    assert build_wheel.digest_package() == before
    file.write_text("SIZE = 2\n")
    assert build_wheel.digest_package() != before
