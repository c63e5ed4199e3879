"""The pods that the controllers of a cluster would make of its workloads."""
