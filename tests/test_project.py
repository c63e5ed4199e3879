"""What the project says about itself: imports, versions, links, notes."""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from koordopt.models.verify import CHECKERS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "koordopt"
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Each of these has one place where it is known, so that the rest can be read, tested and run
# without it.
AT_HOME = {
    "ortools": ("solvers/cpsat", "solvers/mip"),
    "kubernetes": ("runtime/adapters/kubernetes",),
    "plotly": ("runtime/planner",),
    "jinja2": ("runtime/planner",),
}


def imported_packages(module: Path) -> Iterator[str]:
    """Yield the top-level name of everything that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def required() -> list[Requirement]:
    """Return every requirement of the package and of the extras that CI installs."""
    project = SETTINGS["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *SETTINGS["build-system"]["requires"]]
    lines += [line for extra in ("report", "test", "docs", "dev") for line in extras[extra]]
    return [need for need in map(Requirement, lines) if need.name != "koordopt"]


def locked() -> dict[str, str]:
    """Return the versions in the lock by normalised name."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


@pytest.mark.parametrize("package", AT_HOME)
def test_foreign_package_is_imported_only_where_it_is_at_home(package: str) -> None:
    strays = [
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        if package in imported_packages(module)
        and not str(module.relative_to(PACKAGE)).startswith(AT_HOME[package])
    ]
    assert not strays


@pytest.mark.parametrize("need", required(), ids=lambda need: need.name)
def test_lock_has_every_requirement_in_a_version_that_is_allowed(need: Requirement) -> None:
    assert need.specifier.contains(locked()[canonicalize_name(need.name)])


def test_every_requirement_states_a_lower_bound_and_no_upper_one() -> None:
    odd = [str(need) for need in required() if [s.operator for s in need.specifier] != [">="]]
    assert not odd


def test_console_script_names_a_function_that_exists() -> None:
    module, _, function = SETTINGS["project"]["scripts"]["koordopt"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_modules_are_named_for_their_subject() -> None:
    vague = {"utils", "util", "helpers", "helper", "data", "info", "misc", "common"}
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in vague]


def test_every_rule_is_checked_in_every_plan() -> None:
    rules = {path.stem for path in (PACKAGE / "models" / "rules").glob("[!_]*.py")}
    assert rules == {check.__module__.rpartition(".")[2] for check in CHECKERS}


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


def test_change_notes_have_a_type_that_the_changelog_knows() -> None:
    known = {entry["directory"] for entry in SETTINGS["tool"]["towncrier"]["type"]}
    notes = [path for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert not [path.name for path in notes if path.name.split(".")[-2] not in known]


def test_readme_installs_and_tests_as_ci_does() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install '.[test]' && pytest" in readme
    assert "pytest_step 'tests' pytest\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
