"""A cluster to look at, that comes with the package."""

from importlib.resources import as_file, files

from koordopt.runtime.planner.controllers.workloads import complete
from koordopt.runtime.planner.reading.inputs import Inputs
from koordopt.runtime.planner.reading.reader import read


def read_demo() -> Inputs:
    """Return the demo cluster, complete with the pods of its workloads."""
    with as_file(files(__package__) / "cluster.yaml") as path:
        return complete(read([path]))
