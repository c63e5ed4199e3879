"""What is true: values and laws; no solver, no cluster, no clock."""
