"""Status of a host's hook: there, waited for by the host, silent, or not possible and why."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.core.errors import ToolcribError
from app.hooks.entries import COMMAND, LIST, MCP, hook_places
from app.hooks.files import HookState, hook_state
from app.hooks.suggestion import SENT_ALL, SILENCES, THROUGH_ALREADY
from app.hosts.documents.edits import value_at
from app.hosts.documents.values import read_values
from app.hosts.facts import HookFacts, HostFacts
from app.hosts.places import Places, is_file
from app.hosts.reading import read_bytes
from store.records import THROUGH

OFF, ON, WAITING, SILENT, IMPOSSIBLE = "off", "on", "waiting", "silent", "impossible"
_HOW = {
    COMMAND: "{name} runs a small program at each prompt.",
    MCP: "{name} asks the connected gateway at each prompt.",
    LIST: "{name} leaves tools that do not fit out of each prompt's request.",
}


@dataclass(frozen=True, slots=True)
class HookStatus:
    """One host's hook in words."""

    kind: str  # OFF | ON | WAITING | SILENT | IMPOSSIBLE
    words: str  # "" where there is nothing to say
    state: HookState | None = None  # None where the host has no such hook
    outdated: bool = False  # written for another mode: only a new one would speak
    can_narrow: bool = False  # its list form can be written, which speaks where no other does

    @property
    def installed(self) -> bool:
        """True if the host's file has the hook."""
        return self.state is not None and self.state.installed

    @property
    def can_change(self) -> bool:
        """True if the hook can be written, or removed."""
        return self.installed or self.kind == OFF


def hook_status(
    places: Places, facts: HostFacts, *, mode: str, here: bool, no_backend: str = ""
) -> HookStatus:
    """Status of this host's hook; reads files, starts nothing.

    `mode` is the host's; `here` is True if the host is on this computer; `no_backend` is the
    reason that a hook has no backend to ask, "" where there may be one.
    """
    if facts.hook is None:
        return HookStatus(IMPOSSIBLE, no_hook(facts))
    try:
        state = hook_state(places, facts)
    except ToolcribError as error:
        return HookStatus(IMPOSSIBLE, error.title)
    if state.problem:
        return HookStatus(IMPOSSIBLE, state.problem, state)
    gateway = MCP if mode == THROUGH and facts.hook.mcp else COMMAND
    asks_gateway = (state.form or gateway) == MCP
    silence = _silence(facts, mode, state.form, "" if asks_gateway else no_backend)
    narrows = here and facts.hook.lists and mode != THROUGH and not no_backend
    if state.installed:
        lost = state.form == MCP and mode != THROUGH and not silence
        if lost:
            return _outdated(facts, state)
        status = _installed(facts, facts.hook, state, silence)
        if state.form == LIST:
            return replace(status, outdated=mode == THROUGH)
        return replace(status, can_narrow=narrows)
    if not here:
        silence = f"{facts.name} was not found on this computer."
    return HookStatus(IMPOSSIBLE if silence else OFF, silence, state, can_narrow=narrows)


def no_hook(facts: HostFacts) -> str:
    """Reason that this host has no switch for a hook."""
    return f"Toolcrib knows no hook of {facts.name} that can add to a prompt."


def _silence(facts: HostFacts, mode: str, form: str, no_backend: str) -> str:
    """Reason that a hook of this host would never speak, "" where it may."""
    if form == LIST:
        return SILENCES[THROUGH_ALREADY] if mode == THROUGH else no_backend
    if mode != THROUGH and not facts.selects:
        return SILENCES[SENT_ALL]
    return no_backend


def _installed(facts: HostFacts, hook: HookFacts, state: HookState, silence: str) -> HookStatus:
    if silence:
        return HookStatus(SILENT, f"Installed, but silent. {silence}", state)
    if hook.trusted_in and not _is_trusted(state, hook):
        return HookStatus(WAITING, f"Installed, waiting for you. {hook.note}", state)
    note = "" if hook.trusted_in else hook.note
    how = _HOW[state.form].format(name=facts.name)
    return HookStatus(ON, f"Installed. {how} {note}".strip(), state)


def _outdated(facts: HostFacts, state: HookState) -> HookStatus:
    """The host no longer goes through Toolcrib, whose gateway its hook asks."""
    words = f"it asks Toolcrib's gateway, which {facts.name} no longer starts. Update it."
    return HookStatus(SILENT, f"Installed, but silent: {words}", state, outdated=True)


def _is_trusted(state: HookState, hook: HookFacts) -> bool:
    """True if the user has trusted our hook in the host, by the host's own file.

    The host trusts a hash that only it computes; a decision that is older than the hook's file is
    about another text.
    """
    path = state.path.with_name(hook.trusted_in)
    try:
        if not is_file(path) or path.stat().st_mtime < state.path.stat().st_mtime:
            return False
        decided = value_at(read_values(read_bytes(path), "toml").value, ("hooks", "state"))
        [(place, _hook), *_] = hook_places(read_values(read_bytes(state.path), "json").value, hook)
    except (ToolcribError, OSError, ValueError):
        return False
    one = value_at(decided, (_key(state.path, place),))
    return bool(value_at(one, ("trusted_hash",))) and value_at(one, ("enabled",)) is not False


def _key(path: Path, place: tuple[Any, ...]) -> str:
    """The name that Codex gives a hook: file, event in small letters, group, place in it."""
    event = "".join(f"_{c.lower()}" if c.isupper() else c for c in str(place[1])).lstrip("_")
    return f"{path}:{event}:{place[2]}:{place[4] if len(place) > 4 else 0}"
