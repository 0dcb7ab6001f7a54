"""Credentials encrypted at rest: AES-GCM under a key from the environment."""

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.core.errors import ToolcribError

KEY_VARIABLE = "TOOLCRIB_TEAM_KEY"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_VERSION = b"\x01"


class SealedError(ToolcribError):
    """A credential that no key of this replica opens."""


def new_key() -> str:
    """A key for TOOLCRIB_TEAM_KEY."""
    return base64.urlsafe_b64encode(os.urandom(_KEY_BYTES)).decode()


class Sealer:
    """Seals with the first key and opens with any, so that a key can be replaced."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = [AESGCM(key) for key in keys]
        self.signing = keys[0]
        self.name = hashlib.sha256(keys[0]).hexdigest()[:12]  # tells which key sealed a row

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Sealer":
        """The keys of the environment: one, or several with commas, the newest first."""
        texts = [one for one in environ.get(KEY_VARIABLE, "").replace(",", " ").split() if one]
        try:
            keys = [base64.urlsafe_b64decode(text) for text in texts]
        except (binascii.Error, ValueError):
            keys = []
        if not keys or any(len(key) != _KEY_BYTES for key in keys):
            raise ToolcribError(
                f"{KEY_VARIABLE} holds no key of 32 bytes in base64.",
                "Make one: toolcrib-team token new-key",
            )
        return cls(keys)

    def seal(self, text: str, place: str) -> bytes:
        """The text sealed for one place: moved to another row, it does not open."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._keys[0].encrypt(nonce, text.encode(), place.encode())

    def open(self, sealed: bytes, place: str) -> str:
        """The text of what was sealed. Raises SealedError."""
        nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        for key in self._keys if sealed[:1] == _VERSION else ():
            try:
                return key.decrypt(nonce, body, place.encode()).decode()
            except (InvalidTag, ValueError):
                continue
        raise SealedError(
            "A credential cannot be opened.", f"Give {KEY_VARIABLE} the key that sealed it."
        )
