"""Which pods the selectors of a cluster read: each distinct selector and its namespaces, once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from koordopt.models.api.core import LabelSelector
from koordopt.models.api.selectors import Selector, compile_selector


@dataclass(frozen=True)
class Matcher:
    """A label selector within some namespaces.

    Attributes
    ----------
    namespaces
        The namespaces whose pods may match; None for all of them.
    selector
        What the labels must satisfy.
    """

    namespaces: frozenset[str] | None
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether a pod of ``namespace`` with ``labels`` is selected."""
        in_scope = self.namespaces is None or namespace in self.namespaces
        return in_scope and self.selector.matches(labels)


class NamespaceScopes:
    """Answers which namespaces a selector selects, each distinct selector once.

    Parameters
    ----------
    labels
        Labels of each namespace.
    """

    def __init__(self, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = labels
        self._memo: dict[Selector, frozenset[str]] = {}

    def selected(self, selector: Selector) -> frozenset[str]:
        """Return the namespaces whose labels match ``selector``."""
        names = self._memo.get(selector)
        if names is None:
            found = (name for name, labels in self._labels.items() if selector.matches(labels))
            names = self._memo[selector] = frozenset(found)
        return names


class MatcherTable:
    """Interns matchers and answers which of them select a pod.

    Labels that no selector reads play no part, so the thousand pods of one StatefulSet, each with
    an own ordinal label, ask once.
    """

    def __init__(self) -> None:
        self._position: dict[Matcher, int] = {}
        self._matchers: list[Matcher] = []
        self._by_label: dict[tuple[str, str], list[int]] = {}
        self._unindexed: list[int] = []
        self._read_keys: set[str] = set()
        self._memo: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self._matchers)

    def __getitem__(self, m: int) -> Matcher:
        return self._matchers[m]

    def add(self, namespaces: Iterable[str] | None, selector: LabelSelector | None) -> int:
        """Return the index of the matcher for ``selector`` within ``namespaces``."""
        scope = None if namespaces is None else frozenset(namespaces)
        matcher = Matcher(scope, compile_selector(selector))
        m = self._position.get(matcher)
        if m is None:
            m = self._position[matcher] = len(self._matchers)
            self._matchers.append(matcher)
            self._index(m, selector)
            self._memo.clear()
        return m

    def _index(self, m: int, selector: LabelSelector | None) -> None:
        """File matcher ``m`` under one label that it demands, where it demands one."""
        if selector is None:  # a null selector matches nothing
            return
        self._read_keys.update(selector.match_labels)
        self._read_keys.update(e.key for e in selector.match_expressions)
        demanded: list[tuple[str, tuple[str, ...]]] = [
            (key, (value,)) for key, value in selector.match_labels.items()
        ]
        demanded += [
            (e.key, tuple(dict.fromkeys(e.values)))
            for e in selector.match_expressions
            if e.operator == "In"
        ]
        if not demanded:
            self._unindexed.append(m)
            return
        key, values = min(demanded)
        for value in values:
            self._by_label.setdefault((key, value), []).append(m)

    def matching(self, namespace: str, labels: Mapping[str, str]) -> tuple[int, ...]:
        """Return the matchers that select a pod, ascending."""
        read = tuple(sorted(item for item in labels.items() if item[0] in self._read_keys))
        found = self._memo.get((namespace, read))
        if found is None:
            candidates = list(self._unindexed)
            for item in read:
                candidates += self._by_label.get(item, ())
            found = tuple(
                m for m in sorted(candidates) if self._matchers[m].matches(namespace, labels)
            )
            self._memo[(namespace, read)] = found
        return found
