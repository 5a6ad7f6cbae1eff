"""Measurements of quality and speed, printed as JSON or as a table."""

from models.openmp import wait_for_the_next

# Both sides compute as they would on the page; torch is not imported yet where a module here is run.
wait_for_the_next()
