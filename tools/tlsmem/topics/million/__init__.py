"""A million sessions in one process."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

TOPIC = Topic(
    "million",
    "Do a million sessions need what a thousand of them predict?",
    place=90,
    selects=lambda run: run.scenario == "memory" and run.roles.startswith("keep"),
    campaigns=("c1m",),
    page="how-to/million.md",
    section="section:section",
    tables=(
        TopicTable(
            "c1m",
            "table:million_table",
            "a large run by windows with one role kept, and two smaller ones (make c1m)",
            "memory",
        ),
    ),
    pictures=("million",),
    slides=(TopicSlide(15, "million", "picture:draw_slide"),),
)
