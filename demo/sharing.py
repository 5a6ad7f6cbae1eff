"""Links to a run: what they say about the view, and what becomes of one that leads nowhere."""

import re
import secrets
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

from demo.log.run import Run, owner
from demo.log.session_log import LogUnavailable, SessionLog
from models.errors import InputError
from models.explain.aggregation import WAYS

KEY = "shared"
"""The name of a link's key in the page's address."""

_KEY_BYTES = 24
_LOOKS_LIKE_A_KEY = r"[A-Za-z0-9_-]{1,64}"
_LONGEST_ADDRESS = 500
_MOST_STEPS = 9_999
_NOT_YOURS = "Only a run that this browser made and that is still in its History can be shared. Run it here first."
_LEADS_NOWHERE = (
    "This link leads to no run: the run was deleted, is no longer shared, or belongs to another host. "
    "What you see here are the recorded examples."
)


@dataclass(frozen=True)
class ReaderSettings:
    """The settings of a reader: layers, heads and steps count from 1; step 0 is the whole text, layer 0 all of them."""

    kind: str = ""
    how: str = "mean"
    layer: int = 0
    head: int = 1
    words: bool = True
    specials: bool = True
    step: int = 0

    def as_fragment(self) -> str:
        """The place as the part of an address behind `#`, which browsers keep to themselves."""
        settings = {name: int(value) if isinstance(value, bool) else value for name, value in vars(self).items()}
        if not self.step:
            del settings["step"]
        return urlencode(settings)


@dataclass(frozen=True)
class Link:
    """An address taken apart: the key of a run, and the place to open it at."""

    key: str
    place: ReaderSettings


def link_of(address: str) -> Link:
    """The link in an address's query and fragment; what is no setting of the reader there counts as not given."""
    before, _, fragment = address[:_LONGEST_ADDRESS].partition("#")
    given = dict(parse_qsl(fragment))
    plain = ReaderSettings()
    how = given.get("how", plain.how)
    place = ReaderSettings(
        given.get("kind", plain.kind),
        how if how in WAYS else plain.how,
        _number(given.get("layer"), plain.layer),
        _number(given.get("head"), plain.head),
        given.get("words") != "0",
        given.get("specials") != "0",
        _number(given.get("step"), plain.step),
    )
    key = dict(parse_qsl(before.partition("?")[2])).get(KEY, "")
    return Link(key if re.fullmatch(_LOOKS_LIKE_A_KEY, key) else "", place)


def _number(text: str | None, otherwise: int) -> int:
    """A whole number as links have them."""
    if text is None or not text.isascii() or not text.isdigit() or int(text) > _MOST_STEPS:
        return otherwise
    return int(text)


class Sharing:
    """Sharing of runs: a run is private until its owner shares it."""

    def __init__(self, runs: SessionLog) -> None:
        self._runs = runs

    def share(self, run_id: str, session_id: str) -> str:
        """The unguessable key of a run of this session; raises `InputError` for any other."""
        new = secrets.token_urlsafe(_KEY_BYTES)
        key = self._runs.ask(lambda runs: runs.share(run_id, owner(session_id), new)) if run_id else None
        if key is None:
            raise InputError(_NOT_YOURS)
        return key

    def unshare(self, run_id: str, session_id: str) -> bool:
        """Let the link of a run lead nowhere from now on; says whether there was one."""
        return self._runs.ask(lambda runs: runs.unshare(run_id, owner(session_id)))

    def of(self, session_id: str) -> frozenset[str]:
        """The ids of the runs of this session that are shared; none while the database cannot be read."""
        try:
            return self._runs.ask(lambda runs: runs.shared_of(owner(session_id)))
        except LogUnavailable:
            return frozenset()

    def open(self, key: str) -> Run:
        """The run that is shared under `key`; raises `InputError` where there is none."""
        run = self._runs.ask(lambda runs: runs.shared(key))
        if run is None:
            raise InputError(_LEADS_NOWHERE)
        return run
