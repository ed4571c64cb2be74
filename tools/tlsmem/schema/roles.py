"""Roles, processes and peers, as records and options name them. Standard library only."""

from typing import Literal

Role = Literal["client", "server"]
Process = Literal["both", "client", "server"]
ROLES: tuple[Role, ...] = ("client", "server")
PROCESSES: tuple[Process, ...] = ("both", "client", "server")
ITSELF = "itself"  # the peer of a stack that is at both ends of a pair
