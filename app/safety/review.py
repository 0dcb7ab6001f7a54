"""Review: which tools wait for a decision and why, and the decisions themselves."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import apsw

from app.catalog.catalog import Catalog, CatalogTool, trust_tools
from app.catalog.reasons import CHANGED, HELD, NEW, UNTRUSTED
from app.core.changes import Changes
from app.core.errors import ToolcribError
from app.safety.pins import RULE as PIN_RULE
from app.safety.rules import LOOK_ALIKE_RULE, LOOKS_LIKE, ORDER, rules
from store import findings, profiles, tools
from store.connection import transaction
from store.records import Finding
from store.typed import Json

# an item's state: not decided on yet, one of the decisions, or off in the profile
OPEN, APPROVED, KEPT, OFF = "open", findings.APPROVED, findings.KEPT, "off"
_REMARK = "info"
# tools without a finding in their texts: title and meaning
_NEW = (
    "Appeared after the server was first read",
    "You trusted the server when it did not have this tool.",
)
_BY_YOU = ("Held back by you", "Nothing was found in its text.")
_DEEPEST, _LONGEST = 30, 50_000  # nesting and characters of JSON that is written line by line


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One tool with what speaks against it."""

    row: CatalogTool
    findings: tuple[Finding, ...]  # of the present text, worst first, without remarks
    state: str  # OPEN | KEPT | APPROVED | OFF
    beside: CatalogTool | None = None  # another server's tool that its name looks like

    @property
    def severity(self) -> str:
        """block | warn."""
        return self.findings[0].severity if self.findings else "warn"

    @property
    def title(self) -> str:
        """The worst that there is to say."""
        return self._wording[0]

    @property
    def meaning(self) -> str:
        """Reason that the finding matters."""
        return self._wording[1]

    @property
    def _wording(self) -> tuple[str, str]:
        rule = rules().get(self.rule)
        if rule is not None:
            return rule.title, rule.meaning
        return _BY_YOU if self.row.held == HELD else _NEW

    @property
    def rule(self) -> str:
        """Id of the rule that found the worst, "" for a tool that is only new."""
        if self.findings:
            return self.findings[0].rule
        return PIN_RULE if self.changed else ""

    @property
    def changed(self) -> bool:
        """True if the present text is not the one that was trusted."""
        return self.row.tool.hash != self.row.tool.trusted_hash

    @property
    def at(self) -> float:
        """Time of the finding, seconds since the epoch, 0 when it is not known."""
        latest = max((f.found_at for f in self.findings), default=0.0)
        return latest or self.row.tool.first_seen

    @property
    def decided_at(self) -> float:
        """When it was decided, 0 when it was not."""
        return max((f.decided_at for f in self.findings), default=0.0)


@dataclass(frozen=True, slots=True)
class Difference:
    """One part of a tool's text before and after; "" where it had none."""

    place: str  # description, inputSchema ...
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ToolDecisions:
    """Everything that a decision changes about a tool."""

    trusted_hash: str
    trusted_raw: Json | None
    decided: tuple[tuple[int, str, float], ...]  # finding, decision, when
    held: tuple[tuple[int, str], ...]  # profile, why


def known_findings(db: apsw.Connection) -> tuple[Finding, ...]:
    """Every finding, decided or not."""
    return tuple(findings.all_findings(db))


def review_items(catalog: Catalog, findings: Iterable[Finding]) -> tuple[ReviewItem, ...]:
    """Tools with findings, changed ones and new ones: what is open first, the worst first.

    Tools of servers that are not trusted are left out: the server is to be decided on first.
    """
    of_tool: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings:
        of_tool[finding.tool_id].append(finding)
    by_id = {row.tool.tool_id: row for row in catalog.tools}
    items = [
        ReviewItem(row, mine, state, _looked_like(mine, by_id))
        for row in catalog.tools
        if (row.held or row.tool.id in of_tool)
        and row.held != UNTRUSTED
        and (state := _state(row, mine := _of_present_text(row, of_tool[row.tool.id])))
    ]
    items.sort(key=lambda i: (i.state != OPEN, ORDER.index(i.severity), -i.at, i.row.tool.tool_id))
    return tuple(items)


def _looked_like(mine: Sequence[Finding], by_id: Mapping[str, CatalogTool]) -> CatalogTool | None:
    names = (f.detail.removeprefix(LOOKS_LIKE) for f in mine if f.rule == LOOK_ALIKE_RULE)
    return next((by_id[name] for name in names if name in by_id), None)


def _of_present_text(row: CatalogTool, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    mine = [f for f in findings if f.hash == row.tool.hash and f.severity != _REMARK]
    return tuple(sorted(mine, key=lambda f: (ORDER.index(f.severity), f.rule != PIN_RULE, f.rule)))


def _state(row: CatalogTool, mine: Sequence[Finding]) -> str:
    """The item's state, "" for a tool that there is nothing to say about."""
    kept = bool(row.held) and (row.held == HELD or any(f.decided == KEPT for f in mine))
    new = row.held == NEW
    # what was approved once is not approved again when a text comes back
    waits = new or (row.held == CHANGED and not kept)
    undecided = any(not f.decided or (f.decided == KEPT and not kept) for f in mine)
    if undecided or waits:
        return OPEN if row.on else OFF
    if kept:
        return KEPT
    return APPROVED if mine else ""


def differences(before: Json | None, after: Json) -> tuple[Difference, ...]:
    """The parts of a tool's text that differ, the description first; all of it without `before`."""
    old = before or {}
    keys = sorted({*old, *after}, key=lambda key: (key != "description", key))
    parts = ((key, _text(key, old), _text(key, after)) for key in keys)
    return tuple(Difference(*part) for part in parts if part[1] != part[2])


def _text(key: str, raw: Json) -> str:
    """A part as it can be read; what is not there, empty or ends in a line break says so."""
    if key not in raw:
        return ""
    value = raw[key]
    if key == "description" and isinstance(value, str) and value:
        return value + "(line break)" if value[-1] in "\r\n" else value
    written = json.dumps(value, ensure_ascii=False)
    if len(written) > _LONGEST or _depth(written) > _DEEPEST:
        return written
    return json.dumps(value, indent=2, ensure_ascii=False)


def _depth(written: str) -> int:
    """Depth of nested JSON; brackets in texts count too."""
    deepest = depth = 0
    for char in written:
        depth += (char in "[{") - (char in "]}")
        deepest = max(deepest, depth)
    return deepest


# ---- decisions


def approve(db: apsw.Connection, tool_id: int, seen: str, at: float) -> Changes:
    """Trust the text that was looked at (its hash is `seen`), with all that was found in it.

    Raises ToolcribError when the text is another by now.
    """
    with transaction(db):
        _check(db, tool_id, seen)
        trust_tools(db, [tool_id], at)
    return Changes(tools=True)


def hold(db: apsw.Connection, tool_id: int, seen: str, at: float) -> Changes:
    """Keep the tool back in every profile, and what was found in its text (`seen`) for decided.

    Raises ToolcribError when the text is another by now.
    """
    with transaction(db):
        _check(db, tool_id, seen)
        for finding in findings.of_tool(db, tool_id):
            if finding.hash == seen:
                findings.decide(db, finding.id, KEPT, at)
        for profile in profiles.all_profiles(db):
            profiles.set_held(db, profile.id, [tool_id], HELD)
    return Changes(tools=True)


def decisions_of(db: apsw.Connection, tool_id: int) -> ToolDecisions:
    """The present decisions about a tool, for undo_decision()."""
    tool = tools.one(db, tool_id)
    if tool is None:
        raise _gone()
    return ToolDecisions(
        tool.trusted_hash,
        tool.trusted_raw,
        tuple((f.id, f.decided, f.decided_at) for f in findings.of_tool(db, tool_id)),
        tuple(
            (profile.id, states[tool_id].held if tool_id in states else "")
            for profile in profiles.all_profiles(db)
            for states in [profiles.states(db, profile.id)]
        ),
    )


def undo_decision(db: apsw.Connection, tool_id: int, before: ToolDecisions) -> Changes:
    """Take a decision back."""
    with transaction(db):
        tools.trust_earlier(db, tool_id, before.trusted_hash, before.trusted_raw)
        for finding_id, decision, at in before.decided:
            findings.decide(db, finding_id, decision, at)
        for profile_id, held in before.held:
            profiles.set_held(db, profile_id, [tool_id], held)
    return Changes(tools=True)


def _check(db: apsw.Connection, tool_id: int, seen: str) -> None:
    tool = tools.one(db, tool_id)
    if tool is None or tool.gone:
        raise _gone()
    if tool.hash != seen:
        raise ToolcribError(
            f"The text of {tool.tool_id} changed again; nothing was decided.",
            "Look at the new text, then decide.",
        )


def _gone() -> ToolcribError:
    return ToolcribError("The server no longer has this tool.", "There is nothing to decide.")
