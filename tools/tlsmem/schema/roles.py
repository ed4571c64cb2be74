"""Roles, processes and peers, as records and options name them. Standard library only."""

from typing import Literal

Role = Literal["client", "server"]
Process = Literal["both", "client", "server"]
ROLES: tuple[Role, ...] = ("client", "server")
PROCESSES: tuple[Process, ...] = ("both", "client", "server")
Owner = Literal["client", "server", "client context", "server context", "harness"]
OWNERS: tuple[Owner, ...] = ("client", "server", "client context", "server context", "harness")  # of memory
CONTEXT_OWNERS: dict[Role, Owner] = {"client": "client context", "server": "server context"}
ITSELF = "itself"  # the peer of a stack that is at both ends of a pair
