"""Measurements of quality and speed, printed as JSON or as a table."""
