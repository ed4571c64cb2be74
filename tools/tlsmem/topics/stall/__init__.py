"""Peers that stop on the way, hellos that are large, and advisories about both."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

ADVISORIES = "runs of the scenario stall of memtest/advisories.toml (tools/tls-memtest measure advisories)"
TOPIC = Topic(
    "stall",
    "What does a server hold for a peer that stops on the way?",
    place=10,
    selects=lambda run: run.scenario == "stall",
    campaigns=("stall", "stall-tls12", "hellos", "advisories"),
    page="findings/stall.md",
    section="section:section",
    tables=(
        TopicTable("stall", "table:stall_table", "runs of the scenario stall (tools/tls-memtest measure stall)"),
        TopicTable(
            "hello",
            "large_hellos:hello_table",
            "runs of the scenario stall at points of large ClientHellos (tools/tls-memtest measure stall)",
        ),
        TopicTable("advisories", "advisories:advisory_table", ADVISORIES),
        TopicTable("advisory-list", "advisories:advisory_list", ADVISORIES),
    ),
    pictures=("stalled-peers", "large-hellos"),
    slides=(
        TopicSlide(7, "stalled-peers", "picture:draw_slide"),
        TopicSlide(8, "large-hellos", "hello_picture:draw_slide"),
    ),
    meters="meters:METERS",
)
