"""Pod groups: gangs as objects of their own."""

from pydantic import AwareDatetime, Field

from koordopt.models.api.custom import CustomModel, Int32, Metadata, ResourceMap


class PodGroupSpec(CustomModel):
    """How many pods start together, and how long they wait for each other."""

    min_member: Int32 = 0
    min_resources: ResourceMap = Field(default_factory=dict)
    schedule_timeout_seconds: Int32 | None = None


class PodGroupStatus(CustomModel):
    """Where a group stands."""

    phase: str = ""
    occupied_by: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: AwareDatetime | None = None


class PodGroup(CustomModel):
    """A gang: pods that start together or not at all."""

    metadata: Metadata = Metadata()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()
