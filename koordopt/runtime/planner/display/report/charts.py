"""Charts of a report, as plotly's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

MOST_LABELS: Final = 60
"""Nodes up to which each has its name on the axis; hovering tells it in any case."""

_ROW: Final = 34
_MARGIN: Final = 40
_GAP: Final = 46
_LABEL_HEIGHT: Final = 90


def heat_map(
    nodes: Sequence[str],
    resources: Sequence[str],
    before: Sequence[Sequence[float | None]],
    after: Sequence[Sequence[float | None]],
) -> dict[str, Any]:
    """Return two heat maps of nodes and resources, one above the other.

    Parameters
    ----------
    nodes, resources
        Names along the axes.
    before, after
        Use in per cent, a row for each resource; None where a node has none of it.
    """
    is_labelled = len(nodes) <= MOST_LABELS
    low = _LABEL_HEIGHT if is_labelled else _MARGIN
    inner = 2 * _ROW * len(resources) + _GAP
    half = (1 - _GAP / inner) / 2
    return {
        "data": [
            _trace(nodes, resources, after, "after", "y"),
            _trace(nodes, resources, before, "before", "y2"),
        ],
        "layout": {
            "height": inner + _MARGIN + low,
            "margin": {"l": 110, "r": 10, "t": _MARGIN, "b": low},
            "xaxis": {
                "type": "category",
                "showticklabels": is_labelled,
                "ticks": "outside" if is_labelled else "",
                "tickangle": -45,
                "showgrid": False,
                "fixedrange": False,
                "anchor": "y",
            },
            "yaxis": _axis([0, half]),
            "yaxis2": _axis([1 - half, 1]),
            "annotations": [_heading("before", 1), _heading("after", half)],
        },
    }


def _trace(
    nodes: Sequence[str],
    resources: Sequence[str],
    percent: Sequence[Sequence[float | None]],
    name: str,
    axis: str,
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": name,
        "x": list(nodes),
        "y": list(resources),
        "z": [list(row) for row in percent],
        "yaxis": axis,
        "coloraxis": "coloraxis",
        "hoverongaps": False,
        "xgap": 1 if len(nodes) <= MOST_LABELS else 0,
        "ygap": 1,
        "hovertemplate": f"%{{x}}<br>%{{y}} {name}: %{{z:.1f}} %<extra></extra>",
    }


def _axis(domain: list[float]) -> dict[str, Any]:
    return {
        "type": "category",
        "autorange": "reversed",
        "domain": domain,
        "showgrid": False,
        "fixedrange": True,
    }


def _heading(text: str, y: float) -> dict[str, Any]:
    return {
        "text": text,
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
    }
