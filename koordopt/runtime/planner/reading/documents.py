"""What the readers of YAML and JSON hand on: objects as they stand in a file."""

from collections.abc import Mapping
from typing import NamedTuple


class Document(NamedTuple):
    """One object as it stands in a file.

    ``value`` is what was read, ``place`` says where ("document 2, items[7]"), and
    ``repeated_key`` is the first key that the object gives twice, with its line, or None.
    """

    value: object
    place: str
    repeated_key: tuple[str, int] | None = None


def with_list_kind(item: object, parent: Mapping[str, object]) -> object:
    """Return an item of a typed list with the kind and version that the list implies.

    Parameters
    ----------
    item
        Item that may lack ``kind``, as the API server sends the items of a ``PodList``.
    parent
        The list, with or without its items.

    Returns
    -------
    object
        The item itself when it names its kind, is no mapping, or the list implies none.
    """
    kind = parent.get("kind")
    if not isinstance(item, dict) or item.get("kind") is not None:
        return item
    if not isinstance(kind, str) or not kind.endswith("List") or kind == "List":
        return item
    return {**item, "kind": kind.removesuffix("List"), "apiVersion": parent.get("apiVersion")}
