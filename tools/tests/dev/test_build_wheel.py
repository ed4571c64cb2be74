"""A wheel is of one state of the package."""

import build_wheel


def test_a_package_that_has_changed_has_another_digest(monkeypatch, tmp_path):
    file = tmp_path / "module.py"
    file.write_text("SIZE = 1\n")
    monkeypatch.setattr(build_wheel, "list_package", lambda: [file])
    before = build_wheel.digest_package()
    assert build_wheel.digest_package() == before
    file.write_text("SIZE = 2\n")
    assert build_wheel.digest_package() != before
