"""Time: bulk transfer and handshakes, their latencies, threads and instructions."""

from tlsmem.config.topic import Topic, TopicTable

HANDSHAKES = "runs of the scenario handshake (make handshake)"
ANY = "timed runs (make throughput, make handshake)"
TOPIC = Topic(
    "timing",
    "How fast are transfers and handshakes?",
    place=100,
    selects=lambda run: run.scenario in ("throughput", "handshake"),
    campaigns=("throughput", "handshake", "threads-throughput", "threads-handshake"),
    page="findings/timing.md",
    section="section:section",
    tables=(
        TopicTable("factor", "ratios:ratio_table", f"{ANY} of two stacks", "timed", shown_if="ratios:fits"),
        TopicTable("transfer", "transfer:transfer", "runs of the scenario throughput (make throughput)", "timed"),
        TopicTable("handshakes", "handshakes:handshakes", HANDSHAKES, "timed"),
        TopicTable("sessions", "handshakes:sessions", HANDSHAKES, "timed"),
        TopicTable(
            "configurations",
            "configurations:configurations",
            f"{ANY} of one library that differ in one setting (make throughput ALLOCATOR=jemalloc)",
            "timed",
        ),
        TopicTable("threads", "threads:threads", "timed runs with several numbers of threads (make threads)", "timed"),
        TopicTable("latency", "latency:latency", ANY, "timed"),
        TopicTable(
            "instructions",
            "instructions:instructions",
            "runs under callgrind (make throughput, make handshake)",
            "timed",
        ),
        TopicTable("harness", "harness_overhead:harness_overhead_table", ANY, "timed"),
        TopicTable("noise", "noise:noise", ANY, "timed"),
    ),
    pictures=("transfer", "handshake", "sizes"),
)
