"""Releases: what a session of a library holds, from release to release."""

from tlsmem.config.topic import Topic, TopicSlide

TOPIC = Topic(
    "releases",
    "What does a session hold, from release to release of a library?",
    place=5,
    selects=lambda run: run.scenario == "memory",
    campaigns=("stacks",),
    page="findings/versions.md",
    section="section:section",
    pictures=("releases",),
    slides=(TopicSlide(3, "openssl-3.2", "record_layer:draw"),),
)
