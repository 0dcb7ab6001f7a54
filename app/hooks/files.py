"""Hooks in hosts' files: planned, previewed, written and undone like an export."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import apsw

from app.core.context import AppContext
from app.core.errors import ToolcribError, errors_of
from app.core.paths import gateway_program
from app.core.settings import ProfileSettings
from app.export import apply as writes
from app.export import backups
from app.export.history import active_writes
from app.export.plan import Plan
from app.export.wrapping import GatewayCall
from app.hooks.entries import COMMAND, LIST, MCP, entry, hook_places, remove_edits, set_edits
from app.hooks.plugin import plugin_form, plugin_text
from app.hooks.rules import file_plan, is_rules, rules_removal
from app.hooks.suggestion import MOST_LISTED
from app.hosts.documents.editing import edit
from app.hosts.documents.values import read_values
from app.hosts.facts import HookFacts, HostFacts, host, load_hosts
from app.hosts.places import Places, first_there
from app.hosts.reading import LARGEST_PROMPT_FILE, bytes_if_there, hash_bytes
from store import exports, profiles
from store.errors import StoreError
from store.records import THROUGH, ExportRecord

_READS = "At each prompt the hook reads what you typed, on this machine only, and"
_ADDS = "the names and descriptions of at most three tools are added to the request."
_LEAVES = (
    "tools of servers that Toolcrib knows are left out of the request, but up to"
    f" {MOST_LISTED} that fit, pinned ones and those that the conversation has used; where nothing"
    " fits the list stays whole."
)
_REPAIR = "Repair the file, or move it away, and try again."
_NONE, _FIRST = "stores none of it", "stores its first 500 characters, as you chose in Settings"
READS = f"{_READS} {_NONE}; {_ADDS}"
KEEPS = f"{_READS} {_FIRST}; {_ADDS}"
# measured in opencode 1.18.34 by tests/journeys/test_hooks_in_hosts.py: 33,575 bytes for 82,207
CACHE = (
    "With 60 tools a first request measured 34 kB instead of 82. Where the list differs from the"
    " last prompt's, the provider's prompt cache begins anew: where cached text costs a tenth,"
    " those 34 kB then cost more than the 82 kept in it."
)


@dataclass(frozen=True, slots=True)
class HookState:
    """A host's hook as its file has it."""

    host: HostFacts
    path: Path
    installed: bool
    form: str = ""  # command | mcp | list, "" where there is none
    problem: str = ""


def hook_hosts() -> tuple[HostFacts, ...]:
    """The hosts that run a hook before a prompt."""
    return tuple(facts for facts in load_hosts() if facts.hook is not None)


def form_for(facts: HostFacts, history: Sequence[ExportRecord]) -> str:
    """The form that suits the host now: the connected gateway where it goes through Toolcrib."""
    through = exports.mode_of(history) == THROUGH
    return MCP if through and _hook(facts).mcp else COMMAND


def hook_state(places: Places, facts: HostFacts) -> HookState:
    """State of the hook in the host's file, which is only read."""
    hook = _hook(facts)
    path = _path(places, hook)
    try:
        data = bytes_if_there(path, LARGEST_PROMPT_FILE)
        if hook.shape == "plugin":
            made = plugin_form(data)
            return HookState(facts, path, bool(made), made)
        ours = list(hook_places(_tree(data, path), hook))
    except ToolcribError as error:
        return HookState(facts, path, False, problem=error.text)
    form = "" if not ours else MCP if ours[0][1].get("type") == "mcp_tool" else COMMAND
    return HookState(facts, path, bool(ours), form)


def install_plan(
    places: Places,
    facts: HostFacts,
    *,
    profile: str,
    gateway_path: Path,
    form: str = COMMAND,
    history: Sequence[ExportRecord] = (),
    keeps: bool = False,
) -> Plan:
    """Plan of an installation; empty where the file has this hook already.

    `history` are the host's earlier hook writes (store.exports.hooks_of), `keeps` is True if
    the profile keeps prompts.
    """
    hook = _hook(facts)
    if form == MCP and not hook.mcp:
        raise ToolcribError(f"{facts.name} cannot ask a server before a prompt.", "Leave --form.")
    if form == LIST and not hook.lists:
        raise ToolcribError(
            f"{facts.name}'s hook cannot change the list of tools.", "Leave --form."
        )
    call = GatewayCall.here(gateway_path, profile, places)
    path = _path(places, hook)
    before = bytes_if_there(path, LARGEST_PROMPT_FILE)
    if hook.shape == "plugin":
        if before is not None and not plugin_form(before):
            raise ToolcribError(f"{path} is not Toolcrib's.", "Move it away and try again.")
        after: bytes | None = plugin_text(facts, call, form).encode()
    else:
        made = entry(facts, hook, call, form, places.system)
        tree = _tree(before, path)
        _check_room(tree, path, hook)
        after = _edited(before, path, set_edits(tree, hook, made))
    read = _reading_notes(before, facts) if hook.shape != "plugin" else ()
    base = _without(before, path, hook, history)
    words = "a hook before each prompt"
    plan = file_plan(facts, path, before, after, base=base, words=words, profile=profile)
    listed = form == LIST
    cost = (CACHE,) if listed else ()
    notes = (reads(keeps=keeps, listed=listed), *cost, *((hook.note,) if hook.note else ()), *read)
    return replace(plan, warnings=notes if plan.files else ())


def remove_plan(path: Path, facts: HostFacts, history: Sequence[ExportRecord]) -> Plan:
    """Plan of a removal: the file as it was, or as it is now without the hook."""
    before = bytes_if_there(path, LARGEST_PROMPT_FILE)
    after = _without(before, path, _hook(facts), history)
    return file_plan(facts, path, before, after, base=after, words="without the hook")


def change_plan(
    db: apsw.Connection,
    places: Places,
    facts: HostFacts,
    *,
    profile: str,
    wanted: bool,
    form: str = "",
) -> Plan:
    """Plan of writing the hook, or of removing it; `form` "" is the form that suits the host."""
    history = exports.hooks_of(db, facts.id)
    if not wanted:
        return remove_plan(hook_state(places, facts).path, facts, history)
    return install_plan(
        places,
        facts,
        profile=profile,
        gateway_path=gateway_program(),
        form=form or form_for(facts, exports.for_host(db, facts.id)),
        history=history,
        keeps=keeps_prompts(db, profile),
    )


def reads(*, keeps: bool, listed: bool = False) -> str:
    """The one sentence on what a hook reads and stores; `listed` is one in list form."""
    return f"{_READS} {_FIRST if keeps else _NONE}; {_LEAVES if listed else _ADDS}"


def keeps_prompts(db: apsw.Connection, profile: str) -> bool:
    """True if this profile keeps the prompts that hooks look at."""
    record = profiles.by_name(db, profile)
    return record is not None and ProfileSettings.from_json(record.settings).gateway.keep_prompts


def install(plan: Plan, ctx: AppContext, db: apsw.Connection) -> tuple[ExportRecord, ...]:
    """Write the plan."""
    return writes.apply(plan, ctx, db)


def remove(facts: HostFacts, path: Path, ctx: AppContext, db: apsw.Connection) -> tuple[Path, ...]:
    """Take the host's hook, or our words, out of this file; the paths that changed."""
    history = exports.hooks_of(db, facts.id)
    make = rules_removal if is_rules(path) else remove_plan
    plan = make(path, facts, history)
    if plan.files:
        writes.apply(plan, ctx, db)
    return tuple(file.path for file in plan.files)


@dataclass(frozen=True, slots=True)
class HookRemoval:
    """The files that changed, and why others could not: one that cannot be read stops no other."""

    paths: tuple[Path, ...]
    problems: tuple[str, ...]


def remove_all(ctx: AppContext, db: apsw.Connection, *, words: bool, only: str = "") -> HookRemoval:
    """Remove every hook that Toolcrib wrote (of the host `only`), with `words` also its rules."""
    gone: list[Path] = []
    problems: list[str] = []
    for facts in load_hosts():
        if only and facts.id != only:
            continue
        files = {one.file for one in exports.in_force(exports.hooks_of(db, facts.id))}
        for file in sorted(one for one in files if words or not is_rules(Path(one))):
            try:
                gone += remove(facts, Path(file), ctx, db)
            except (ToolcribError, StoreError) as error:
                problems.append(error.text)
    return HookRemoval(tuple(gone), tuple(problems))


def hook_host(host_id: str) -> HostFacts:
    """The host of that id; raises ToolcribError where it runs no hook before a prompt."""
    facts = host(host_id)
    _hook(facts)
    return facts


def _hook(facts: HostFacts) -> HookFacts:
    if facts.hook is None:
        names = ", ".join(one.id for one in hook_hosts())
        raise ToolcribError(
            f"{facts.name} has no hook that Toolcrib can use.", f"These do: {names}"
        )
    return facts.hook


def _path(places: Places, hook: HookFacts) -> Path:
    paths = places.paths(hook.paths)
    if not paths:
        raise ToolcribError("This host has no file for hooks on this system.")
    return first_there(paths)


def _tree(data: bytes | None, path: Path) -> Any:
    with errors_of(path):
        tree = read_values(data, "json").value if data else {}
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ToolcribError(f"{path} holds no JSON object, so no hook can be in it.", _REPAIR)
    return tree


def _reading_notes(data: bytes | None, facts: HostFacts) -> tuple[str, ...]:
    """Notes on what the file has that strict readers of JSON refuse."""
    parsed = read_values(data or b"", "json")
    odd = {"comments": parsed.comments, "trailing commas": parsed.trailing_commas}
    return tuple(
        f"This file has {what}, which {facts.name} may not read."
        for what, is_so in odd.items()
        if is_so
    )


def _check_room(tree: Any, path: Path, hook: HookFacts) -> None:
    """Raise ToolcribError where a hook would take the place of something that is no hook."""
    hooks = tree.get("hooks")
    if hooks is not None and not isinstance(hooks, dict):
        raise ToolcribError(f"{path}: hooks is not an object.", _REPAIR)
    listed = (hooks or {}).get(hook.event)
    if listed is not None and not isinstance(listed, list):
        raise ToolcribError(f"{path}: hooks.{hook.event} is not a list.", _REPAIR)


def _edited(data: bytes | None, path: Path, edits: Sequence[Any]) -> bytes | None:
    if not edits:
        return data
    with errors_of(path):
        return edit(data or b"", "json", edits)


def _without(
    data: bytes | None, path: Path, hook: HookFacts, history: Sequence[ExportRecord]
) -> bytes | None:
    """The file without our hook; None where there would be none."""
    if data is None:
        return None
    # a write that took the hook out, which names no profile, ends what came before it
    active = tuple(takewhile(lambda record: record.profile, active_writes(history, path)))
    base = backups.read(active[0].base_copy) if active else None
    if active and active[0].after_hash == hash_bytes(data) and _is_whole(active[0], base):
        return base
    if hook.shape == "plugin":
        return None if plugin_form(data) else data
    tree = _tree(data, path)
    edits = remove_edits(tree, hook, keep=_tree(base, path) if base else None)
    left = _edited(data, path, edits)
    made_by_us = bool(active) and not active[-1].before_hash
    return None if edits and made_by_us and _tree(left, path) in ({}, {"version": 1}) else left


def _is_whole(record: ExportRecord, base: bytes | None) -> bool:
    """True if the copy kept is the file without the hook, or there was no file."""
    return base is not None or not record.base_copy
