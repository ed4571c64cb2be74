"""Time: bulk transfer and handshakes, their latencies, threads and instructions."""

from tlsmem.config.topic import Topic

TOPIC = Topic(
    "timing",
    "How fast are transfers and handshakes?",
    place=100,
    selects=lambda run: run.scenario in ("throughput", "handshake"),
    campaigns=("throughput", "handshake", "threads-throughput", "threads-handshake"),
    page="reference/timing.md",
    section="section:section",
)
