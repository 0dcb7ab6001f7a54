"""A keychain that answers when what it is asked for is written into a pipe; "" for locked."""

import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class Keyring(KeyringBackend):
    """Waits for as long as nobody writes."""

    priority = 1.0

    def get_password(self, service, username):
        text = Path(os.environ["KEYCHAIN_PIPE"]).read_text(encoding="utf-8")
        if not text:
            raise KeyringLocked
        return text

    def set_password(self, service, username, password):
        raise KeyringLocked
