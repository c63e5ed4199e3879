"""What custom resources have in common: leniency, metadata, and amounts."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)
from pydantic.alias_generators import to_camel

from koordopt.models.api.faults import read_quantity
from koordopt.models.units import Quantity, amounts


def without_nulls(value: Any) -> Any:
    """Return a mapping without its null entries; anything else as it is."""
    if isinstance(value, Mapping):
        return {key: item for key, item in value.items() if item is not None}
    return value


def _quantity(value: Any) -> Quantity:
    return value if isinstance(value, Quantity) else read_quantity(value)


_Quantity = Annotated[Quantity, BeforeValidator(_quantity), PlainSerializer(str, return_type=str)]
ResourceMap = Annotated[dict[str, _Quantity], BeforeValidator(without_nulls)]
"""Resource name to quantity that is not negative."""
StringMap = Annotated[dict[str, str], BeforeValidator(without_nulls)]
"""Labels or annotations."""
Int32 = Annotated[int, Field(strict=True, ge=-(2**31), le=2**31 - 1)]
"""An integer as the API keeps it, in 32 bits."""


class CustomModel(BaseModel):
    """Common settings: camel case, lenient towards unknown and null fields, read-only."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        arbitrary_types_allowed=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        return without_nulls(value)


class Metadata(CustomModel):
    """Identity and labels of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: StringMap = Field(default_factory=dict)
    annotations: StringMap = Field(default_factory=dict)
    creation_timestamp: AwareDatetime | None = None
    deletion_timestamp: AwareDatetime | None = None


def renamed_amounts(
    resources: Mapping[str, Quantity], renamed: Mapping[str, str]
) -> dict[str, int]:
    """Return amounts under present names; a deprecated name counts where the present is absent."""
    found = amounts(resources.items())
    for old, new in renamed.items():
        if old in found and new not in found:
            found[new] = found.pop(old)
    return found
