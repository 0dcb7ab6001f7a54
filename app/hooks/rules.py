"""A few words on Toolcrib's menu in a host's own instructions, between markers.

For agents that never call the search tool by themselves. Off until the user writes it.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from app.core.errors import ToolcribError, errors_of
from app.export import backups
from app.export.history import ChangedPlaces, active_writes
from app.export.plan import FilePlan, Plan
from app.hosts.documents.encoding import decode
from app.hosts.facts import HostFacts, load_hosts
from app.hosts.places import Places
from app.hosts.reading import LARGEST_PROMPT_FILE, bytes_if_there, hash_bytes
from store import exports
from store.records import HOOK, THROUGH, ExportRecord

BEGIN, END = "<!-- toolcrib:begin -->", "<!-- toolcrib:end -->"
RULES = (
    "Tools of the user's other applications are behind Toolcrib: call search_tools with a few words"
    " for what you need, then call_tool with the name that it gives. Search before you say that"
    " something cannot be done, or do it by hand."
)
_WHAT = "Tells the agent in {file} to search Toolcrib's menu, for agents that never do."
COST = "These instructions are part of every request of every session of this host."
_FIRST, _LAST = re.escape(BEGIN.encode()), re.escape(END.encode())
# markers on lines of their own around one line of words: anything else is the user's
_BLOCK = re.compile(
    rb"(?:\r\n|\r|\n)?(?<![^\r\n])%b(?:\r\n|\r|\n)(?!%b|%b)[^\r\n]*(?:\r\n|\r|\n)%b(?:\r\n|\r|\n|\Z)"
    % (_FIRST, _FIRST, _LAST, _LAST)
)
_FENCE = re.compile(rb"(?<![^\r\n]) {0,3}(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class RulesState:
    """A host's instructions, and if they have Toolcrib's lines."""

    host: HostFacts
    path: Path
    installed: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RulesStatus:
    """Our words in one host's instructions, as the window says it."""

    words: str
    installed: bool = False
    can_change: bool = True
    warns: bool = False


def rules_hosts() -> tuple[HostFacts, ...]:
    """The hosts whose file of instructions is known."""
    return tuple(facts for facts in load_hosts() if facts.rules)


def rules_state(places: Places, facts: HostFacts) -> RulesState:
    """State of the lines in the host's file, which is only read."""
    path = _path(places, facts)
    try:
        data = bytes_if_there(path, LARGEST_PROMPT_FILE) or b""
    except ToolcribError as error:
        return RulesState(facts, path, False, error.text)
    return RulesState(facts, path, _without_block(data) != data)


def rules_status(places: Places, facts: HostFacts, *, mode: str, here: bool) -> RulesStatus | None:
    """Status of the lines in the host's instructions; None where it has no file that is known.

    `mode` is the host's; `here` is True if the host is on this computer.
    """
    if not places.paths(facts.rules):
        return None
    state = rules_state(places, facts)
    if state.problem:
        return RulesStatus(state.problem, can_change=False, warns=True)
    name, file = facts.name, state.path.name
    if state.installed and mode != THROUGH:
        words = f"In {file}, but {name} no longer has Toolcrib's menu: remove it."
        return RulesStatus(words, installed=True, warns=True)
    if state.installed:
        return RulesStatus(f"In {file}. {COST}", installed=True)
    if not here:
        return RulesStatus(f"{name} was not found on this computer.", can_change=False)
    if mode != THROUGH:
        return RulesStatus(_no_menu(facts), can_change=False)
    return RulesStatus(f"{_WHAT.format(file=file)} {COST}")


def _no_menu(facts: HostFacts) -> str:
    return f"{facts.name} does not go through Toolcrib, so it has no menu of Toolcrib's."


def rules_change(
    db: apsw.Connection, places: Places, facts: HostFacts, *, profile: str, wanted: bool
) -> Plan:
    """Plan of writing the lines, or of removing them."""
    if wanted:
        return rules_plan(places, facts, profile=profile, mode=mode_of(db, facts))
    return rules_removal(_path(places, facts), facts, exports.hooks_of(db, facts.id))


def rules_plan(places: Places, facts: HostFacts, *, profile: str, mode: str) -> Plan:
    """Plan of writing the lines; empty where they are there already. `mode` is the host's."""
    path = _path(places, facts)
    if mode != THROUGH:
        raise ToolcribError(_no_menu(facts), f"toolcrib export {facts.id} --mode through")
    before = bytes_if_there(path, LARGEST_PROMPT_FILE)
    with errors_of(path):
        decode(before or b"")
    base = _without_block(before) if before is not None else None
    words = "words on Toolcrib's menu"
    after = _with_block(base or b"")
    plan = file_plan(facts, path, before, after, base=base, words=words, profile=profile)
    return replace(plan, warnings=(COST,) if plan.files else ())


def rules_removal(path: Path, facts: HostFacts, history: Sequence[ExportRecord]) -> Plan:
    """Plan of removing the lines: the file as it was, or as it is without them.

    `history` are the host's writes about prompts (store.exports.hooks_of).
    """
    before = bytes_if_there(path, LARGEST_PROMPT_FILE)
    if before is None or _without_block(before) == before:
        return Plan(facts, HOOK, "")
    active = active_writes(history, path)
    after: bytes | None = _without_block(before)
    if active and active[0].profile and active[0].after_hash == hash_bytes(before):
        after = backups.read(active[0].base_copy)
    elif not after and active and not active[-1].before_hash:
        after = None  # the file that we made has no other content
    words = "without words on Toolcrib's menu"
    return file_plan(facts, path, before, after, base=after, words=words)


def mode_of(db: apsw.Connection, facts: HostFacts) -> str:
    """Mode in which the host gets its tools, by Toolcrib's writes."""
    return exports.mode_of(exports.for_host(db, facts.id))


def is_rules(path: Path) -> bool:
    """True if a write about prompts was one of instructions, not of a hook."""
    return path.suffix == ".md"


def _without_block(data: bytes) -> bytes:
    """The file without Toolcrib's lines; those that a code fence quotes stay."""
    fences: list[int] = []

    def left(block: re.Match[bytes]) -> bytes:
        if not fences:
            fences.extend((-1, *(fence.start() for fence in _FENCE.finditer(data))))
        quoted = (bisect_left(fences, block.start()) - 1) % 2 == 1
        return block.group() if quoted else b""

    return _BLOCK.sub(left, data)


def _with_block(data: bytes) -> bytes:
    line = _line_end(data)
    block = line.join(part.encode() for part in (BEGIN, RULES, END)) + line
    if not data:
        return block
    return data + (b"" if data.endswith((b"\n", b"\r")) else line) + line + block


def _line_end(data: bytes) -> bytes:
    if b"\r\n" in data:
        return b"\r\n"
    return b"\r" if b"\r" in data and b"\n" not in data else b"\n"


def _path(places: Places, facts: HostFacts) -> Path:
    paths = places.paths(facts.rules)
    if not paths:
        names = ", ".join(one.id for one in rules_hosts())
        raise ToolcribError(
            f"Toolcrib knows no file of instructions of {facts.name}.", f"These have one: {names}"
        )
    return paths[0]


def file_plan(
    facts: HostFacts,
    path: Path,
    before: bytes | None,
    after: bytes | None,
    *,
    base: bytes | None,
    words: str,
    profile: str = "",
) -> Plan:
    """Plan of one file that a host reads for prompts; empty where it stays as it is.

    `base` is the file without what Toolcrib adds.
    """
    if before == after:
        return Plan(facts, HOOK, profile)
    file = FilePlan(
        path=path,
        scope="user",
        format="json" if path.suffix == ".json" else "text",
        before=before,
        after=after,
        before_hash=hash_bytes(before),
        changes=(words,),
        touched=ChangedPlaces(),
        base=base,
    )
    return Plan(facts, HOOK, profile, (file,), restart_hint=f"Start {facts.name} anew.")
