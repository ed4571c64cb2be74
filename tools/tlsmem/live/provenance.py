"""Where the figures of a live run come from; and with them, its record and its key."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.live.cgroup import FIRST
from tlsmem.live.clients import count_processes
from tlsmem.live.live_run import LiveRun, Timeline
from tlsmem.live.servers import Program, Server, Setup, configuration_sha256
from tlsmem.run.provenance import checkout, sha256
from tlsmem.schema.live_records import SCHEMA, LiveRecord, live_key
from tlsmem.schema.machine import read_machine
from tlsmem.schema.run_origins import Machine


@dataclass(frozen=True)
class LiveProvenance:
    """What the runs of one server share."""

    server: Server
    program: Program
    machine: Machine = field(default_factory=read_machine)

    def declared(self, run: LiveRun) -> dict[str, Any]:
        """Return the fields of the record that are known before the run."""
        fields = {
            "schema": SCHEMA,
            "server": run.server,
            "reported": self.program.reported,
            "program_sha256": self.program.sha256,
            "configuration_sha256": digest_configuration(self.server, run),
            "tls_library": self.program.tls_library,
            "transport": run.transport,
            "meter": run.meter,
            "meter_sha256": sha256(ROOT / HEAP_METER) if run.meter == "heap" else None,
            "connections": run.connections,
            "window": run.window,
            "full_bytes": self.server.full_bytes,
            "hollow": run.hollow,
            "ktls": run.ktls,
            "client_processes": count_processes(run.connections),
            "idle_s": run.idle_s,
            "settle_s": run.settle_s,
            "cgroup_version": 1 if (FIRST / "memory.kmem.usage_in_bytes").exists() else 2,
            "machine": self.machine.model_dump(),
        }
        return fields | {"key": live_key(fields)}

    def record(
        self,
        run: LiveRun,
        timeline: Timeline,
        negotiated: dict[str, str] | None,
        started_at: str,
        elapsed_ns: int,
        reason: str | None,
    ) -> LiveRecord:
        """Return the record of a run that was made; `reason`: why it failed."""
        commit, dirty = checkout()
        return LiveRecord.model_validate(
            self.declared(run)
            | {
                "negotiated": negotiated,
                "commit": commit,
                "dirty": dirty,
                "started_at": started_at,
                "elapsed_ns": elapsed_ns,
                "status": "failed" if reason else "measured",
                "reason": reason,
                "phases": [phase.model_dump() for phase in timeline.phases],
                "samples": timeline.samples.model_dump(),
            }
        )


def digest_configuration(server: Server, run: LiveRun) -> str:
    """Return the SHA-256 of the configuration that a run's server gets."""
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(Path(folder), server.ports, run.connections, run.protocol, run.ktls)
        arguments = server.configure(setup)
        return configuration_sha256(Path(folder), arguments)
