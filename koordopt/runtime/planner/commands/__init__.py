"""The verbs of the planner. Each imports what it works with only once it is called."""
