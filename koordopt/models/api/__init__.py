"""Typed readings of the API objects that koordopt uses."""
