"""The devices of a node, as its agent found them."""

from pydantic import Field

from koordopt.models.api import keys
from koordopt.models.api.custom import (
    CustomModel,
    Int32,
    Metadata,
    ResourceMap,
    StringMap,
    renamed_amounts,
)


class DeviceTopology(CustomModel):
    """Where a device sits; -1 where that is unknown."""

    socket_id: int = Field(default=-1, alias="socketID")
    node_id: int = Field(default=-1, alias="nodeID")
    pcie_id: str = Field(default="", alias="pcieID")
    bus_id: str = Field(default="", alias="busID")


class VirtualFunction(CustomModel):
    """A virtual function of a network device."""

    minor: int = -1
    bus_id: str = Field(default="", alias="busID")


class VirtualFunctionGroup(CustomModel):
    """Virtual functions with labels in common."""

    labels: StringMap = Field(default_factory=dict)
    vfs: tuple[VirtualFunction, ...] = ()


class DeviceInfo(CustomModel):
    """One device of a node."""

    type: str = ""
    labels: StringMap = Field(default_factory=dict)
    id: str = ""
    minor: Int32 = 0
    module_id: int | None = Field(default=None, alias="moduleID")
    health: bool = False
    resources: ResourceMap = Field(default_factory=dict)
    topology: DeviceTopology | None = None
    vf_groups: tuple[VirtualFunctionGroup, ...] = ()

    @property
    def amounts(self) -> dict[str, int]:
        """What the device offers, in base units."""
        return renamed_amounts(self.resources, keys.RENAMED_DEVICE_RESOURCES)


class DeviceSpec(CustomModel):
    """The devices of a node."""

    devices: tuple[DeviceInfo, ...] = ()


class Device(CustomModel):
    """The devices of the node of the same name."""

    metadata: Metadata = Metadata()
    spec: DeviceSpec = DeviceSpec()
