"""Sessions that come and go: what waves of them leave."""

from tlsmem.config.topic import Topic, TopicSlide, TopicTable

TOPIC = Topic(
    "churn",
    "Does memory grow while sessions come and go?",
    place=30,
    selects=lambda run: run.scenario == "churn",
    campaigns=("churn", "churn-allocators", "churn-lifetimes", "churn-trim", "churn-window"),
    page="findings/churn.md",
    section="section:section",
    tables=(TopicTable("churn", "table:churn_table", "runs of the scenario churn (tools/tls-memtest measure churn)"),),
    pictures=("churn",),
    slides=(TopicSlide(13, "churn", "picture:draw_slide"),),
    meters="meters:METERS",
)
