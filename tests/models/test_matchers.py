"""Selectors over many namespaces."""

from koordopt.models.api.core import LabelSelector
from koordopt.models.api.selectors import compile_selector
from koordopt.models.matchers import NamespaceScopes


class Counted(dict):
    """Labels that count how often they are looked at."""

    looks = 0

    def get(self, key, default=None):
        """Return a label."""
        Counted.looks += 1
        return super().get(key, default)


def test_namespaces_are_asked_once_for_each_distinct_selector():
    """Thousands of pods with one namespace selector made snapshots of minutes."""
    scopes = NamespaceScopes({f"ns{k}": Counted(team=str(k % 7)) for k in range(700)})
    chosen = [
        scopes.selected(compile_selector(LabelSelector(match_labels={"team": "3"})))
        for _ in range(1000)
    ]
    assert set(chosen) == {frozenset(f"ns{k}" for k in range(3, 700, 7))}
    assert Counted.looks == 700
