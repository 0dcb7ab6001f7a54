"""The policy file of the project that a host works in: found by folder or roots, watched.

Looking for it costs a few calls of the system; its reader loads only where there is one.
"""

import os
import time
from contextlib import closing

from store.files import stamp
from store.typed import TYPE_CHECKING, Json, list_or_empty, object_or_empty

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from app.policy.policy_file import Policy
    from app.policy.project_policy import ProjectPolicy

FILE_NAME = ".toolcrib.toml"
_LOOK_SECONDS = 1.0


def find_policy(folder: str) -> str:
    """Path of the policy file in a folder or the nearest one above it, "" for none.

    As app.policy.policy_file.find_policy: the search ends at .git, the home folder and the root.
    """
    if not folder:
        return ""
    folder, home = os.path.abspath(folder), os.path.expanduser("~")
    first = folder
    while folder != home or folder == first:
        path = os.path.join(folder, FILE_NAME)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder or os.path.exists(os.path.join(folder, ".git")):
            return ""
        folder = above
    return ""


class ProjectRules:
    """The policy of one session's project; `policy` is None where there is no file."""

    def __init__(self, folder: str, open_db: "Callable[[], apsw.Connection]") -> None:
        self._folders = [folder]
        self._open = open_db
        self._mark: tuple[str, float, int] = ("", 0.0, 0)
        self._trust = ""
        self._looked = float("-inf")
        self.policy: ProjectPolicy | None = None

    def add_folders(self, folders: "list[str]") -> None:
        """Roots that the host named; the working folder comes first."""
        self._folders += [folder for folder in folders if folder not in self._folders]
        self._looked = float("-inf")

    def look(self, *, at_once: bool = False) -> bool:
        """Read the file again if it or its trust changed; True if something else counts now."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS and not at_once:
            return False
        self._looked = now
        path = next(filter(None, map(find_policy, self._folders)), "")
        mark = (path, *stamp(path)) if path else ("", 0.0, 0)
        if not path and not self._mark[0]:
            return False
        before = self.policy
        if not path:
            self._mark, self.policy = mark, None
            return before is not None and before.counts
        from app.policy.project_policy import read_project_policy
        from store import policies

        with closing(self._open()) as db:
            trust = policies.trust_of(db, path).digest
            if mark == self._mark and trust == self._trust:
                return False
            self.policy = read_project_policy(db, path, time.time())
        self._mark, self._trust = mark, trust
        return before is None or before != self.policy

    @property
    def wants_roots(self) -> bool:
        """True if roots may lead to a policy file: none is met yet, and some are known."""
        if self.policy is not None:
            return False
        from store import policies
        from store.errors import StoreError

        try:
            with closing(self._open()) as db:
                return bool(policies.all_policies(db))
        except StoreError:
            return False

    @property
    def counting(self) -> "Policy | None":
        """The policy that narrows the session, None where none does."""
        policy = self.policy
        return policy.policy if policy is not None and policy.counts else None

    def settings(self, stored: Json) -> Json:
        """The profile's stored settings, narrowed."""
        policy = self.counting
        if policy is None:
            return stored
        from app.policy.project_policy import narrowed

        return narrowed(stored, policy)

    @property
    def note(self) -> str:
        """Reason that a policy file does not count, "" where there is none or it does."""
        return self.policy.note if self.policy is not None else ""


def folders_of_roots(result: object) -> list[str]:
    """Local folders among a host's answer to roots/list."""
    from urllib.parse import unquote, urlsplit

    roots = list_or_empty(object_or_empty(result).get("roots"))
    folders = []
    for root in roots[:20]:
        uri = object_or_empty(root).get("uri")
        try:
            parts = urlsplit(uri if isinstance(uri, str) else "")
        except ValueError:
            continue
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            folders.append(unquote(parts.path))
    return folders
