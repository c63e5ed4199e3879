"""Host ports: two pods of one node may not listen on the same port of the same address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from koordopt.models.api.core import Pod
from koordopt.models.arrays import IntArray, frozen
from koordopt.models.violation import Violation

if TYPE_CHECKING:
    from koordopt.models.problem.placement import PlacementProblem
    from koordopt.models.result import Placement
    from koordopt.models.snapshot import ClusterSnapshot

RULE = "host-port"
ANY_ADDRESS = "0.0.0.0"


@dataclass(frozen=True, order=True)
class HostPort:
    """One port of the node that a container listens on."""

    protocol: str
    address: str
    port: int

    def conflicts_with(self, other: HostPort) -> bool:
        """Return whether both cannot be open on one node.

        ``0.0.0.0`` stands for every address; ``::`` is an address like any other.
        """
        return (
            self.port == other.port
            and self.protocol == other.protocol
            and (self.address == other.address or ANY_ADDRESS in (self.address, other.address))
        )


def ports_of(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports of ``pod``: of its containers and sidecars, not of init containers.

    Under ``hostNetwork`` every container port is a host port.
    """
    spec = pod.spec
    running = list(spec.containers)
    running += [c for c in spec.init_containers if c.restart_policy == "Always"]
    ports = set()
    for container in running:
        for p in container.ports:
            number = p.host_port or (p.container_port if spec.host_network else 0)
            if number > 0:
                ports.add(HostPort(p.protocol or "TCP", p.host_ip or ANY_ADDRESS, number))
    return tuple(sorted(ports))


@dataclass(frozen=True, eq=False)
class PortTable:
    """The host ports of a problem.

    Attributes
    ----------
    ports
        Distinct ports, sorted.
    own
        Ports that a pod of each class opens, as indices, by class.
    conflicts
        Ports that must be closed where a pod of each class goes, as indices, by class.
    use
        Bound pods that use each port, shape ``(ports, N)``.
    """

    ports: tuple[HostPort, ...]
    own: Mapping[int, tuple[int, ...]]
    conflicts: Mapping[int, tuple[int, ...]]
    use: IntArray


def compile_ports(snapshot: ClusterSnapshot) -> PortTable:
    """Return the host ports of ``snapshot`` and who uses them."""
    users = {c: cls.host_ports for c, cls in enumerate(snapshot.classes) if cls.host_ports}
    ports = tuple(sorted({port for own in users.values() for port in own}))
    position = {port: k for k, port in enumerate(ports)}
    same_number: dict[tuple[str, int], list[int]] = {}
    for k, port in enumerate(ports):
        same_number.setdefault((port.protocol, port.port), []).append(k)
    own = {c: tuple(position[port] for port in mine) for c, mine in users.items()}
    conflicts = {
        c: tuple(
            sorted(
                {
                    k
                    for port in mine
                    for k in same_number[(port.protocol, port.port)]
                    if port.conflicts_with(ports[k])
                }
            )
        )
        for c, mine in users.items()
    }
    pods = snapshot.pods
    use = np.zeros((len(ports), len(snapshot.nodes)), dtype=np.int64)
    has_ports = np.zeros(len(snapshot.classes), dtype=np.bool_)
    has_ports[list(own)] = True
    for p in np.flatnonzero((pods.node_of >= 0) & has_ports[pods.class_of]).tolist():
        use[list(own[int(pods.class_of[p])]), pods.node_of[p]] += 1
    return PortTable(ports, own, conflicts, frozen(use))


def violations(problem: PlacementProblem, placement: Placement) -> list[Violation]:
    """Return the placed pods whose host ports clash with another pod of their node."""
    classes, pods = problem.snapshot.classes, problem.snapshot.pods
    has_ports = np.fromiter((bool(cls.host_ports) for cls in classes), np.bool_, len(classes))
    node_of = placement.node_of(problem)
    open_ports: dict[int, list[tuple[int, HostPort]]] = {}
    found = []
    placed = set(placement.pod.tolist())
    bound = [p for p in np.flatnonzero(node_of >= 0).tolist() if has_ports[pods.class_of[p]]]
    for p in sorted(bound, key=lambda p: p in placed):  # those that ran before come first
        others = open_ports.setdefault(int(node_of[p]), [])
        for own in classes[pods.class_of[p]].host_ports:
            clash = next((q for q, other in others if own.conflicts_with(other)), None)
            if clash is not None and p in placed:
                found.append(
                    Violation(
                        RULE,
                        pods.keys[p],
                        f"{own.protocol} {own.address}:{own.port} beside {pods.keys[clash]}",
                        "one pod a port and node",
                    )
                )
        others += [(p, own) for own in classes[pods.class_of[p]].host_ports]
    return found
