"""Resumption: tickets, sessions that are resumed, and what either end keeps for later sessions."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

TOPIC = Topic(
    "resumption",
    "What do tickets cost, and what is kept of sessions that are gone?",
    place=70,
    selects=lambda run: run.scenario in ("memory", "churn"),
    campaigns=("resumption", "resumption-resumed", "resumption-stores"),
    page="findings/resumption.md",
    section="section:section",
    tables=(
        TopicTable(
            "tickets",
            "table:ticket_table",
            "heap runs of full records with and without tickets (tools/tls-memtest measure resumption)",
            "memory",
        ),
        TopicTable(
            "resumed",
            "table:resumed_table",
            "heap runs of full records whose sessions are resumed (tools/tls-memtest measure resumption-resumed)",
            "memory",
        ),
        TopicTable(
            "resumption",
            "table:store_table",
            "waves of sessions with a store (tools/tls-memtest measure resumption-stores)",
        ),
    ),
    pictures=("session-stores",),
    slides=(TopicSlide(12, "session-stores", "picture:draw_slide"),),
    meters="meters:METERS",
    leads="tickets:has_tickets",
)
