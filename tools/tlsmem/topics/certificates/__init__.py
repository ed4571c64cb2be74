"""Certificates that a library has parsed and keeps: a client's chain, a root, a server's name."""

from tlsmem.config.topic import Topic, TopicTable

NEEDS = (
    "runs with client certificates (tools/tls-memtest measure certificates) or of roots and names "
    "(tools/tls-memtest measure certificates-contexts)"
)
TOPIC = Topic(
    "certificates",
    "What are the bytes of a certificate that a library keeps?",
    place=60,
    selects=lambda run: run.scenario in ("memory", "contexts"),
    campaigns=("certificates", "certificates-contexts"),
    page="explanation/certificates.md",
    section="section:section",
    tables=(
        TopicTable("certificates", "table:certificate_table", NEEDS, "both"),
        TopicTable("certificate-sites", "table:site_table", NEEDS, "both"),
    ),
    pictures=("certificates",),
)
