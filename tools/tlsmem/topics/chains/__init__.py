"""Client certificates: what a server holds of its client's chain."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

TOPIC = Topic(
    "chains",
    "What does a client certificate cost a server for each connection?",
    place=50,
    selects=lambda run: run.scenario == "memory",
    campaigns=("chains", "chains-each", "chains-rss"),
    page="findings/client-certificates.md",
    section="section:section",
    tables=(
        TopicTable(
            "chains",
            "table:chain_table",
            "runs of servers with and without client certificates (tools/tls-memtest measure chains)",
            "memory",
        ),
        TopicTable(
            "chain-keys",
            "table:key_table",
            "runs with client certificates of several kinds of keys (tools/tls-memtest measure chains)",
            "memory",
        ),
        TopicTable(
            "client-certificates",
            "table:client_table",
            "runs in which each client has its own certificate (tools/tls-memtest measure chains-each)",
            "memory",
        ),
    ),
    pictures=("client-certificates",),
    slides=(TopicSlide(10, "client-certificates", "picture:draw_slide"),),
    leads="table:has_chains",
)
