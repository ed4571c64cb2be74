"""A hook of hatchling's: a wheel has what `make wheel` collected for it, and the tag of the system that its heap meter
runs on. Without that it has the package alone."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the directory that MEMTEST_PUBLISHED names, under the tag of MEMTEST_WHEEL_TAG."""
        if published := os.environ.get("MEMTEST_PUBLISHED"):
            build_data["force_include"][published] = "tlsmem/published"
            build_data["tag"] = os.environ["MEMTEST_WHEEL_TAG"]
            build_data["pure_python"] = False
