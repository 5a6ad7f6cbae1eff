"""Checkpoints, their loading, and one wrapper per task. Nothing here knows a page, a figure or a database.

>>> from models import load_model
>>> load_model("sentiment")(text="A quiet, generous film.").label
'positive'
"""

from models.errors import CheckpointUnavailable, InputError
from models.loading.store import load_model

__all__ = ["CheckpointUnavailable", "InputError", "load_model"]
