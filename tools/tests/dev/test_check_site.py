"""What `make docs` says of a site that has a fault: links, addresses of its host, files that cannot be published."""

import subprocess
import sys

import pytest

import check_site
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT

START = '<a href="folder/page.html#here">one</a> <img src="picture.png"> <a href="https://example.org/">other</a>'
PAGE = '<section id="here"><a href="../index.html">back</a></section>'


@pytest.fixture
def site(tmp_path):
    """Two pages and a picture, without a fault."""
    made = tmp_path / "site"
    (made / "folder").mkdir(parents=True)
    (made / "index.html").write_text(START)
    (made / "folder/page.html").write_text(PAGE)
    (made / "picture.png").write_bytes(b"picture")
    return made


def find_faults(site):
    with check_site.served(site) as address:
        return check_site.visit_site(address).faults + check_site.find_unfit_files(site)


def test_a_site_without_a_fault(site):
    assert find_faults(site) == []


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("nowhere.html", "index.html: nowhere.html: File not found"),
        ("folder/page.html#there", "index.html: folder/page.html has no place #there"),
        ("/folder/page.html", "index.html: /folder/page.html: leads out of the site"),
        ("../folder/page.html", "index.html: ../folder/page.html: leads out of the site"),
        ("http://127.0.0.1:8000/", "index.html: http://127.0.0.1:8000/: an address of this machine"),
    ],
)
def test_a_link_that_fails_where_the_site_is_published(site, link, fault):
    (site / "index.html").write_text(f'{START}<a href="{link}">fault</a>')
    assert find_faults(site) == [fault]


def test_a_symbolic_link_and_a_size_that_are_not_published(site, monkeypatch):
    (site / "link.html").symlink_to("index.html")
    monkeypatch.setattr(check_site, "LIMIT_BYTES", 100)
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    assert find_faults(site) == ["link.html: a symbolic link", f"the site has {size:,} B, and the limit is 100 B"]


@pytest.mark.parametrize(
    ("urls", "fault"),
    [
        (["questions.html"], "is found, not first"),
        ([], "nothing is found, not first"),
        (["reference/glossary.html#memory", "gone.html"], "gone.html is no place of the site"),
        (["reference/glossary.html#memory", "questions.html#gone"], "questions.html#gone is no place of the site"),
    ],
)
def test_a_search_that_does_not_lead_to_its_section(monkeypatch, urls, fault):
    places = {"search.html": "", "questions.html": "", "reference/glossary.html": '<p id="memory">'}
    pages = {f"http://site/{url}": check_site.Page(text) for url, text in places.items()}
    assert fault in "\n".join(check_site.find_result_faults("http://site/", pages, {"in use": urls}))


def test_no_site_is_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "tools/dev/check_site.py", tmp_path], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stderr) == (
        2,
        f"memtest: {tmp_path}: no site; `make docs` builds it into build/docs\n",
    )


def test_a_search_that_does_not_run_is_named(site):
    (site / "search.html").write_text("<pagefind-config data-ranking='{}'>")
    with check_site.served(site) as address:
        pages = {f"{address}search.html": check_site.Page((site / "search.html").read_text())}
        with pytest.raises(UserError, match="the search does not run"):
            check_site.find_search_faults(address, pages)
