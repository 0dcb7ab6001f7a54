"""Paths of Toolcrib's own files."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from app.core.home import DATABASE, home_folder
from store.files import give_to_owner_above

LOCK_FILE = "export.lock"  # held by the one writer of host files; has notes while it writes


class Paths(NamedTuple):
    """Toolcrib's own files below one folder; nothing is created here."""

    home: Path
    models: Path

    @classmethod
    def default(cls, environ: Mapping[str, str] = os.environ) -> "Paths":
        """The user's folder.

        TOOLCRIB_MODELS moves only the exported encoders, so that several homes can share them.
        """
        home = Path(home_folder(environ))
        models = environ.get("TOOLCRIB_MODELS")
        return cls(home, Path(models).expanduser().absolute() if models else home / "models")

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.home / DATABASE

    @property
    def backups(self) -> Path:
        """Copies of host files, made before each write."""
        return self.home / "backups"

    @property
    def policy_copies(self) -> Path:
        """Copies of profiles' policy files, made before each write."""
        return self.home / "policy-copies"

    @property
    def secrets(self) -> Path:
        """The file, mode 0600, that replaces a missing keychain."""
        return self.home / "secrets.json"

    @property
    def install_key(self) -> Path:
        """The random key under which secret values are digested."""
        return self.home / "install.key"

    @property
    def settings_file(self) -> Path:
        """The global settings, TOML."""
        return self.home / "settings.toml"

    @property
    def logs(self) -> Path:
        """Folder of the log files."""
        return self.home / "logs"

    def create(self) -> None:
        """Make the folder, readable by its owner only; one of ours that others may use is closed.

        Under sudo it gets the owner of the folder above it.
        """
        missing = [folder for folder in (self.home, *self.home.parents) if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
            give_to_owner_above(str(folder))
        if sys.platform != "win32":
            now = self.home.stat()
            if now.st_uid == os.geteuid() and now.st_mode & 0o077:
                self.home.chmod(0o700)


def gateway_program() -> Path:
    """The absolute path of `toolcrib-gateway`, which belongs beside this program."""
    name = "toolcrib-gateway.exe" if sys.platform == "win32" else "toolcrib-gateway"
    for program in (sys.executable, sys.argv[0]):
        beside = Path(program).absolute().with_name(name)
        if beside.is_file():
            return beside
    import shutil

    on_path = shutil.which(name)
    return Path(on_path) if on_path else Path(sys.executable).absolute().with_name(name)
