"""Contexts: configuration that sessions share, with a store of roots or many names."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

TOPIC = Topic(
    "contexts",
    "What does one more context hold, and what do roots, names and sharing change?",
    place=20,
    selects=lambda run: run.scenario == "contexts",
    campaigns=("contexts", "contexts-tls12", "contexts-names"),
    page="findings/contexts.md",
    section="section:section",
    tables=(
        TopicTable(
            "contexts", "table:contexts_table", "runs of the scenario contexts (tools/tls-memtest measure contexts)"
        ),
    ),
    pictures=("client-contexts",),
    slides=(TopicSlide(11, "contexts", "picture:draw_slide"),),
    meters="meters:METERS",
)
