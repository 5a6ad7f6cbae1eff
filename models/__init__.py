"""The models: checkpoints, loading, and one wrapper per task. No page, no figure and no database is known here.

>>> from models import load_model
>>> load_model("sentiment")(text="A quiet, generous film.").label
'positive'
"""

from models.errors import CheckpointUnavailable, InputError
from models.loading.store import load_model

__all__ = ["CheckpointUnavailable", "InputError", "load_model"]
