"""Toolcrib's hook in a host's file: made, recognised, removed."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

import app
from app.catalog.menu_tools import SUGGEST
from app.core.errors import ToolcribError
from app.export.wrapping import GatewayCall
from app.hosts.documents.editing import edit
from app.hosts.documents.edits import Delete, Edit, Path, Set, apply_edits, value_at
from app.hosts.documents.values import read_values
from app.hosts.entries import THROUGH_NAME
from app.hosts.facts import HookFacts, HostFacts
from app.system.quoting import joined
from store.typed import Json, list_or_empty

COMMAND, MCP = "command", "mcp"  # a program at each prompt, or a call to the connected gateway
LIST = "list"  # a program that says which tools to leave out of the request
_SECONDS = 5  # after which the host goes on without us; our own limit is far below
_OURS = re.compile(r"toolcrib-gateway(\.exe)?['\"]? hook [a-z-]+")
# what the program does, without the start of an environment: a third of the time at each prompt.
# If Toolcrib was removed it ends with 1, not with 2, by which hosts would refuse the prompt
_RUN = (
    "import sys; sys.path.append(sys.argv[1]); from app.gateway.hook import run; run(sys.argv[4:])"
)


def words_of(host: HostFacts, call: GatewayCall, form: str = COMMAND) -> list[str]:
    """The command that a host runs before a prompt."""
    home = ["--home", call.home] if call.home else []
    listed = ["--form", LIST] if form == LIST else []
    return [*_start(call.path), "hook", host.id, "--profile", call.profile, *home, *listed]


def _start(program: str) -> list[str]:
    """The program, or what is faster where it is a script of this very environment."""
    try:
        with FilePath(program).open("rb") as file:
            first = file.readline(500).decode().rstrip()
    except (OSError, ValueError):
        return [program]
    # the script's own spelling: the key of a backend
    python = first.removeprefix("#!")
    folders = {FilePath(path).parent for path in (python, program, sys.executable)}
    if python == first or " " in python or len(folders) > 1 or getattr(sys, "frozen", False):
        return [program]
    return [python, "-I", "-S", "-c", _RUN, str(FilePath(app.__path__[0]).parent), program]


def entry(host: HostFacts, hook: HookFacts, call: GatewayCall, form: str, system: str) -> Json:
    """One hook as the host's file spells it."""
    limit = _SECONDS * (1000 if hook.milliseconds else 1)
    if form == MCP:
        given = {"prompt": "${prompt}", "conversation": "${session_id}", "host": host.id}
        return {
            "type": "mcp_tool",
            "server": THROUGH_NAME,
            "tool": SUGGEST,
            "input": given,
            "timeout": limit,
        }
    words = words_of(host, call)
    line = joined(words, windows=system == "windows")
    if hook.shape == "list":
        return {"type": "command", "bash": line, "powershell": f"& {line}", "timeoutSec": limit}
    return {"type": "command", "command": line, "timeout": limit}


def is_ours(one: object) -> bool:
    """True if a hook in a file is one that Toolcrib wrote."""
    if not isinstance(one, Mapping):
        return False
    if one.get("type") == "mcp_tool":
        return one.get("server") == THROUGH_NAME and one.get("tool") == SUGGEST
    return any(_OURS.search(str(one.get(key, ""))) for key in ("command", "bash"))


def hook_places(tree: Any, hook: HookFacts) -> Iterator[tuple[Path, Json]]:
    """Places of our hooks, the last first, so that each can be removed in this order."""
    listed = list_or_empty(value_at(tree, ("hooks", hook.event)))
    for index, one in reversed(list(enumerate(listed))):
        at: Path = ("hooks", hook.event, index)
        if is_ours(one):
            yield at, one
        inner = list_or_empty(value_at(one, ("hooks",)))
        for place, nested in reversed(list(enumerate(inner))):
            if is_ours(nested):
                yield (*at, "hooks", place), nested


def set_edits(tree: Any, hook: HookFacts, made: Json) -> list[Edit]:
    """Edits that put our hook behind the user's own, or bring it up to date in its place."""
    here = list(hook_places(tree, hook))
    if len(here) == 1 and here[0][1] == made:
        return []
    if len(here) == 1:
        return [Set(here[0][0], made)]
    edits = remove_edits(tree, hook, keep=tree)
    tree = apply_edits(tree, edits)
    listed = value_at(tree, ("hooks", hook.event))
    group = {"hooks": [made]} if hook.shape == "groups" else made
    if isinstance(listed, list):
        edits.append(Set(("hooks", hook.event, len(listed)), group))
        return edits
    if hook.shape == "list" and "version" not in (tree or {}):
        edits.append(Set(("version",), 1))
    return [*edits, Set(("hooks", hook.event), [group])]


def remove_edits(tree: Any, hook: HookFacts, keep: Any) -> list[Edit]:
    """Edits that take our hooks out; what is empty then goes, unless `keep` has it as well."""
    edits: list[Edit] = []
    for at, _ in hook_places(tree, hook):
        edits.append(Delete(at))
        tree = apply_edits(tree, edits[-1:])
        group = at[:3]
        if len(at) > len(group) and value_at(tree, (*group, "hooks")) == []:
            edits.append(Delete(group))
            tree = apply_edits(tree, edits[-1:])
    for place in (("hooks", hook.event), ("hooks",)):
        if edits and value_at(tree, place) in ([], {}) and value_at(keep, place) is None:
            edits.append(Delete(place))
            tree = apply_edits(tree, edits[-1:])
    return edits


def without_hook(data: bytes, facts: HostFacts) -> bytes:
    """A file's bytes without our hook; as they are where there is none or they cannot be read."""
    hook = facts.hook
    if hook is None or hook.shape == "plugin":
        return data
    try:
        tree = read_values(data, "json").value
        return edit(data, "json", remove_edits(tree, hook, keep=None))
    except ToolcribError:
        return data
