"""Sessions of visitors: ids that cannot be guessed, signed so that they cannot be made up either."""

import hashlib
import hmac
import logging
import os
import secrets
from pathlib import Path

import gradio as gr
from itsdangerous import BadSignature, Signer
from itsdangerous.signer import SigningAlgorithm
from sqlalchemy.engine import make_url

from demo.log.database import file_of
from demo.settings import SettingError, Settings
from demo.web.gradio_private import component_class

_log = logging.getLogger(__name__)
_TOKEN_CHARACTERS = 200
_LEAST_SECRET_BYTES = 16

# The name under which the browser keeps the session. It serves as Gradio's secret too: Gradio would make up a new one
# at each start, after which the session could not be read.
_STORED_AS = "clearhead-session"


class _ShortHmac(SigningAlgorithm):
    """HMAC-SHA256 cut to 24 bytes (RFC 2104, section 5), as browsers hold it from earlier versions."""

    def get_signature(self, key: bytes, value: bytes) -> bytes:
        """The signature of `value`."""
        return hmac.digest(key, value, "sha256")[:24]


class SessionSigner:
    """Turns the id of a session into a token that only this host can make, and back."""

    def __init__(self, secret: bytes) -> None:
        key = hashlib.blake2b(secret, digest_size=32, person=b"session").digest()
        self._signer = Signer(key, sep=".", key_derivation="none", algorithm=_ShortHmac())

    def sign(self, session_id: str) -> str:
        """The token that a browser keeps; "" for no session."""
        return self._signer.sign(session_id).decode() if session_id else ""

    def read(self, token: object) -> str:
        """The id in a token of this host; "" for anything else, so that its bearer is a new visitor."""
        if not isinstance(token, str) or len(token) > _TOKEN_CHARACTERS or not token.isascii():
            return ""
        try:
            return self._signer.unsign(token).decode()
        except BadSignature:
            return ""


def signed_session(signer: SessionSigner) -> gr.BrowserState:
    """The visitor's session on the page: handlers see its id, the browser keeps the signed token."""

    def preprocess(_: gr.BrowserState, token: object) -> str:
        return signer.read(token)

    def postprocess(_: gr.BrowserState, session_id: str | None) -> str:
        return signer.sign(session_id or "")

    signed = component_class(gr.BrowserState, "SignedSession", preprocess=preprocess, postprocess=postprocess)
    return signed("", storage_key=_STORED_AS, secret=_STORED_AS)


def host_secret(settings: Settings) -> bytes:
    """The key that signs sessions: the host's, or a random number kept beside an SQLite database.

    Without either, a random key lasts as long as the process, and the log warns the host. Raises `SettingError` for a
    key of fewer than 16 bytes, which could be guessed.
    """
    if settings.secret is not None:
        return _long_enough(settings.secret.encode(), "CLEARHEAD_SECRET")
    if database := file_of(make_url(settings.database_url)):
        path = database.with_suffix(".secret")
        try:
            return _long_enough(_kept(path), f"the secret in {path}")
        except OSError as error:
            _log.warning("no secret can be kept at %s (%s)", path, error)
    _log.warning("sessions end with this process: set CLEARHEAD_SECRET to keep them")
    return secrets.token_bytes(32)


def _long_enough(secret: bytes, name: str) -> bytes:
    if len(secret.strip()) < _LEAST_SECRET_BYTES:
        raise SettingError(
            f"{name} must have {_LEAST_SECRET_BYTES} bytes or more, because whoever guesses it can read every "
            "visitor's runs: give a longer one, or leave it out, and a random one is made"
        )
    return secret


def _kept(path: Path) -> bytes:
    """The secret in the file at `path`, which only this user may read; a new one where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = secrets.token_bytes(32)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(new)
    try:
        # A link is made whole or not at all: two processes that start together both read the secret of the first.
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink()
    return path.read_bytes()
