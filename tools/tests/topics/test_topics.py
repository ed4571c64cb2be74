"""What topics declare, and that what they name is there."""

import ast
import inspect
import re

import pytest

from tests.support import synthetic
from tlsmem.base.paths import ROOT
from tlsmem.cli import help
from tlsmem.config import definitions, table_names
from tlsmem.config.topic import FOLDER, Topic, topic_tables, topics
from tlsmem.gate.scenario_meter import ScenarioMeter
from tlsmem.slides import draw_slides
from tlsmem.stats import timed_selection
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue

EVERY = pytest.mark.parametrize("topic", topics(), ids=lambda topic: topic.name)


def test_each_folder_is_a_topic_of_its_name():
    folders = {file.parent.name for file in FOLDER.glob("*/*.py")}
    assert {topic.name for topic in topics()} == folders
    assert len({topic.place for topic in topics()}) == len(folders)


@EVERY
def test_a_declaration_needs_the_standard_library_alone(topic: Topic):
    tree = ast.parse((FOLDER / topic.name / "__init__.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == {"tlsmem.config.topic"}
    assert not any(isinstance(node, ast.Import) for node in ast.walk(tree))


@EVERY
def test_makers_campaigns_and_the_page_are_there(topic: Topic):
    slides = [slide.maker for slide in topic.slides]
    leads = [topic.leads] if topic.leads else []
    shown = [table.shown_if for table in topic.tables if table.shown_if]
    for maker in (topic.section, *slides, *leads, *shown, *(table.maker for table in topic.tables)):
        assert inspect.isfunction(topic.find(maker)), maker
    meters = topic.find(topic.meters) if topic.meters else {}
    assert all(isinstance(meter, ScenarioMeter) for meter in meters.values())
    assert set(topic.campaigns) <= set(definitions.campaigns())
    assert (ROOT / "docs" / topic.page).is_file()


@EVERY
def test_a_table_and_a_picture_have_the_declared_names(topic: Topic):
    arguments = {"runs": [[]], "memory": [select([synthetic.record("null@c", "null", 100)])], "both": [None, []]}
    arguments["timed"] = [timed_selection.select([])]
    assert [topic.find(one.maker)(*arguments[one.takes]).name for one in topic.tables] == [
        one.name for one in topic.tables
    ]
    section = (FOLDER / topic.name / "section.py").read_text()
    assert {*re.findall(r'\bPicture\(\s*"([\w-]+)"', section)} <= set(topic.pictures)
    assert all(f'"{name}"' in section for name in topic.pictures)


def test_names_of_tables_and_numbers_of_slides_are_used_once():
    tables = [table.name for topic in topics() for table in topic.tables]
    assert len({*tables, *table_names.NEEDS}) == len(tables) + len(table_names.NEEDS)
    assert set(tables) <= set(table_names.TABLES)
    numbers = [slide.number for topic in topics() for slide in topic.slides]
    numbers += [int(name.partition("-")[0]) for name in draw_slides.SLIDES]
    assert sorted(numbers) == [*range(1, len(numbers) + 1)]


def test_each_slide_is_drawn_and_stands_in_the_page_of_slides():
    page = (ROOT / "docs/slides/index.md").read_text()
    assert re.findall(r"\]\((.+)\.png\)", page) == [*draw_slides.list_slides()]
    assert {file.stem for file in (ROOT / "docs/slides").glob("*.svg")} == {*draw_slides.list_slides()}


def test_tables_of_memory_follow_those_of_no_topic_in_the_order_of_topics():
    made = list(catalogue.list_makers())
    assert made[: len(catalogue.MAKERS)] == [*catalogue.MAKERS]
    assert made[len(catalogue.MAKERS) :] == [*topic_tables("memory")]
    assert made[-1] == "c1m" and made.index("post-quantum") < made.index("chains") < made.index("tickets")


def test_the_page_of_topics_is_current():
    page = (ROOT / "docs/reference/topics.md").read_text()
    block = page.partition("<!-- begin: tools/tls-memtest help topics -->\n")[2].partition("<!-- end -->")[0]
    assert block.strip() == help.topics_page(), "make it again: make figures"
