"""A profile's allowlists and preconditions where one server is served under its own name."""

from collections import deque
from collections.abc import Callable

from app.gateway.live_tools import LiveTools
from app.gateway.profile_view import ProfileView
from store.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from app.gateway.menu.access import Access

_MOST_CALLED = 1_000


class SessionConditions:
    """State that one host's session has reached, and the tools that it keeps from the host.

    The judging code loads only for a profile that has such settings.
    """

    def __init__(self, view: ProfileView, live: LiveTools) -> None:
        self.called: deque[str] = deque(maxlen=_MOST_CALLED)  # tool ids whose calls succeeded
        self.milestones: set[str] = set()
        self.refused: frozenset[str] = frozenset()  # this mode never reads a server's refusals
        self._view = view
        self._live = live
        self._access: Access | None = None

    def note_call(self, tool_id: str, *, succeeded: bool) -> None:
        """Remember a call that succeeded, for after(pattern)."""
        if succeeded and tool_id not in self.called:
            self.called.append(tool_id)

    def reason(self, tool_id: str) -> str:
        """Reason that the session may not call a tool now, to follow a colon; "" when it may."""
        settings = self._view.settings
        if not settings.get("scopes") and not settings.get("preconditions"):
            return ""
        if self._access is None:
            from app.gateway.menu.access import Access

            self._access = Access(self._view, self._live)
        named = self._access.find(tool_id)
        return "" if named is None else self._access.reason(named, self)

    def private(self) -> "Callable[[str], bool]":
        """Return the test that an allowlist keeps a tool, by its id, from this profile's users.

        A condition that is only not met yet keeps no tool out of a list: the host reads it once.
        """
        scopes = self._view.settings.get("scopes")
        if not scopes:
            return lambda _tool_id: False
        from app.catalog.availability import Conditions
        from app.catalog.conditions import State

        names = self._view.settings.get("principals")
        principals = frozenset(map(str, names if isinstance(names, list) else ()))
        rules, user = Conditions.of(scopes, {}), State(principals=principals)
        return lambda tool_id: rules.reason(tool_id, user) is not None
