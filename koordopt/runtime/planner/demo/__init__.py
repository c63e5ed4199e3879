"""A cluster to look at, that comes with the package."""

from importlib.resources import as_file, files

from koordopt.runtime.planner.inputs import Inputs
from koordopt.runtime.planner.reader import read
from koordopt.runtime.planner.workloads import complete


def read_demo() -> Inputs:
    """Return the demo cluster, complete with the pods of its workloads."""
    with as_file(files(__package__) / "cluster.yaml") as path:
        return complete(read([path]))
