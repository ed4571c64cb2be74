"""Post-quantum certificates and key exchange."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

TOPIC = Topic(
    "post_quantum",
    "What do post-quantum certificates and key exchange add to a session?",
    place=40,
    selects=lambda run: run.scenario == "memory",
    campaigns=("post-quantum",),
    page="findings/post-quantum.md",
    section="section:section",
    tables=(
        TopicTable(
            "post-quantum",
            "table:certificate_table",
            "runs with ML-DSA certificates (tools/tls-memtest measure post-quantum)",
            "memory",
        ),
        TopicTable(
            "key-exchange",
            "table:exchange_table",
            "runs of several groups with RSA-2048 certificates (tools/tls-memtest measure post-quantum)",
            "memory",
        ),
    ),
    pictures=("post-quantum-certificates",),
    slides=(TopicSlide(9, "post-quantum-certificates", "picture:draw_slide"),),
)
