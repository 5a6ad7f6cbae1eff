"""Greedy search, beam search and sampling from one prompt, as a tree; it is no run of its own, and is not logged."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from demo.inspection import OUR_FAULT
from demo.limits import clean, plain_text
from demo.settings import Settings
from models.errors import InputError
from models.loading import Progress
from models.loading.store import ModelStore
from models.outputs import DecodeTree
from models.registry import Task, find

if TYPE_CHECKING:
    from models.tasks.text_generation import TextGeneration

_log = logging.getLogger(__name__)


def grow_tree(
    settings: Settings, store: ModelStore, fields: Mapping[str, Any], checkpoint: str, progress: Progress
) -> DecodeTree:
    """The tree for the fields of a completion, whose strategy plays no part; raises `InputError`."""
    cleaned = clean(Task.COMPLETION, fields, settings.limits)
    found = find(plain_text(checkpoint, "The checkpoint", "checkpoint"), Task.COMPLETION)
    try:
        model = cast("TextGeneration", store.load(found, progress))
        from models.explain.strategy_tree import decode_tree

        return decode_tree(model, model.inputs_type(**cleaned))
    except InputError:
        raise
    except Exception as error:
        _log.exception("a decode tree failed")
        raise InputError(OUR_FAULT) from error
