"""Real servers: what an idle connection costs in them, the kernel's part included."""

from tlsmem.config.topic import Topic, TopicSlide

TOPIC = Topic(
    "live",
    "What does a connection to a real server cost, and does the prediction hold?",
    place=80,
    selects=lambda run: hasattr(run, "server"),
    campaigns=(),  # live runs have a command of their own
    page="how-to/live.md",
    section="section:section",
    folder="live",
    pictures=("live-libraries", "live-added", "live-servers", "live-timeline", "live-prediction"),
    slides=(
        TopicSlide(14, "live-servers", "picture:draw_slide"),
        TopicSlide(18, "one-server-several-libraries", "comparison_pictures:draw_library_slide"),
        TopicSlide(19, "what-tls-adds-by-server", "comparison_pictures:draw_added_slide"),
    ),
)
