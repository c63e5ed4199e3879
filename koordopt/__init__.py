"""Optimisation-based scheduling for Kubernetes."""
