"""Configurations of real servers: what grows with certificates, backends, caches, and with a reload."""

from tlsmem.config.topic import Topic

TOPIC = Topic(
    "configuration",
    "What does one more certificate, backend or cache entry cost a server, and what does a reload leave?",
    place=82,
    selects=lambda run: hasattr(run, "certificates_seen"),
    campaigns=(),  # runs of configurations have a command of their own
    page="how-to/live.md",
    section="section:section",
    folder="configuration",
)
