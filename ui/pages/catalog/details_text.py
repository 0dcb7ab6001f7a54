"""Content of the details card for a tool, a server or several tools, as plain values."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.catalog.availability import Conditions
from app.catalog.catalog import Catalog, CatalogTool
from app.catalog.conditions import matches
from app.catalog.reasons import DISABLED, sentence
from app.core.text import plural
from app.hosts.display import spec_text
from app.safety.notices import notices_of
from store.records import MANUAL, ServerRecord
from store.typed import Json
from ui.look.text import APPROX, ago, count, visible
from ui.pages.catalog.tree_rows import status_words, tool_badge, twice_words
from ui.shell.badges import badge
from ui.shell.host_names import host_names
from ui.widgets.roles import BadgeText

LONG_DESCRIPTION = 400  # tokens; above it shortening pays


@dataclass(frozen=True, slots=True)
class Part:
    """One field's tokens."""

    name: str
    tokens: int
    counted: bool  # whether it is part of what a host sends


@dataclass(frozen=True, slots=True)
class Parameter:
    """One property of the input schema."""

    name: str
    type: str
    required: bool
    description: str


@dataclass(frozen=True, slots=True)
class Details:
    """Everything the card shows."""

    title: str
    subtitle: str = ""
    badges: tuple[BadgeText, ...] = ()
    headline: str = ""
    parts: tuple[Part, ...] = ()
    advice: str = ""
    text: str = ""
    parameters: tuple[Parameter, ...] = ()
    code: str = ""  # JSON or a log, in the fixed font
    code_title: str = ""
    callable: bool = False  # a tool that can be called by hand
    log_of: str = ""  # the server whose whole log can be opened


def tool_details(row: CatalogTool, catalog: Catalog, *, hosts: str) -> Details:
    """One tool."""
    total = sum(t.cost for t in catalog.tools) or 1
    worst = tool_badge(row)
    badges = [worst] if worst else []
    if not row.on:
        badges.append(badge("off"))
    if row.tool.has_hint("readOnlyHint"):
        badges.append(badge("read-only"))
    reason = f"Held back: {sentence(row.held)}." if row.held else row.tool.problem
    if row.server.disabled:
        reason = f"Not available: {sentence(DISABLED)}."
    lines = [reason, *condition_lines(row, catalog), visible(row.tool.description)]
    text = "\n\n".join(filter(None, lines))
    return Details(
        title=row.tool.name,
        subtitle=" · ".join(filter(None, [row.server.name, hosts])),
        badges=tuple(badges),
        headline=f"{count(row.cost)} tokens {APPROX} · {100 * row.cost / total:.1f} % of all tools"
        if row.tokens
        else "Not counted yet",
        parts=_parts(row),
        advice=_advice(row),
        text=text or "This tool has no description.",
        parameters=parameters(row.tool.input_schema),
        code=json.dumps(row.tool.input_schema, indent=2, ensure_ascii=False),
        code_title="Input schema",
        callable=not why_not(row),
    )


def why_not(tool: CatalogTool) -> str:
    """Reason that a tool cannot be called by hand, "" where it can."""
    if tool.server.disabled:
        return f"{tool.server.name} is disabled in Toolcrib. Enable it first."
    if not tool.server.trusted:
        return f"{tool.server.name} is not trusted yet. Trust the server first."
    if tool.held:
        return f"{tool.tool.name} is held back: {sentence(tool.held)}. Decide in Review first."
    return ""


def condition_lines(row: CatalogTool, catalog: Catalog) -> tuple[str, ...]:
    """Who may use the tool, and what has to hold first, as the profile says."""
    settings = catalog.settings
    rules = Conditions.of(settings.scopes, settings.preconditions)
    tool = row.tool.tool_id
    names = sorted({who for who, pattern in rules.rules if who and matches(tool, pattern)})
    needs = [c for c in rules.preconditions if matches(tool, c.pattern)]
    lines = [f"Only for {', '.join(names)}."] if names else []
    lines += [f"Precondition: {c.kind}({c.argument})." for c in needs]
    return (*lines, *rules.problems)


def server_details(
    server: ServerRecord, tools: Sequence[CatalogTool], *, hosts: str, now: float
) -> Details:
    """One server."""
    on = sum(t.cost for t in tools if t.shown)
    version = " ".join(str(server.server_info.get(key, "")) for key in ("name", "version")).strip()
    read = f"Read {ago(now - server.read_at)}" if server.read_at else "Not read yet"
    read = "" if server.problem and not server.read_at else f"{read}."
    signed_in = server.taken_with.get("signed_in") and not server.problem
    state = status_words(server) if server.problem else "You are signed in." if signed_in else ""
    twice = twice_words(server, host_names())
    warned = "\n\n".join(notice.text for notice in notices_of(server))
    lines = [disabled_words(server, hosts), state, twice, warned, read, _start(server)]
    return Details(
        title=server.name,
        subtitle=" · ".join(filter(None, [version, hosts])),
        badges=tuple(_server_badges(server)),
        headline=f"{count(on)} tokens {APPROX} · {sum(t.on for t in tools)} of"
        f" {plural(len(tools), 'tool')} on"
        if tools
        else "No tools known",
        text="\n\n".join(filter(None, [*lines, visible(server.instructions)])),
        code=server.stderr,
        code_title="Last lines of its log" if server.stderr else "",
        log_of=server.name if server.read_at or server.problem else "",
    )


def disabled_words(server: ServerRecord, hosts: str) -> str:
    """Effect of disabling a server in Toolcrib on its hosts, "" where it is not disabled."""
    if not server.disabled:
        return ""
    named = bool(hosts) and any(entry.host != MANUAL for entry in server.entries)
    rest = f" A file of {hosts} still names it: a host that starts it itself goes on doing so."
    return f"Disabled: Toolcrib neither starts nor serves it.{rest if named else ''}"


def _server_badges(server: ServerRecord) -> Iterator[BadgeText]:
    if server.disabled:
        yield badge("disabled")
    if not server.trusted:
        yield badge("not trusted")


def several_details(tools: Sequence[CatalogTool]) -> Details:
    """Several tools together."""
    servers = dict.fromkeys(t.server.name for t in tools)
    total = sum(t.cost for t in tools)
    return Details(
        title=f"{len(tools)} tools selected",
        subtitle=", ".join(servers),
        headline=f"{count(total)} tokens {APPROX} · {sum(t.on for t in tools)} on",
        text="Space turns all of them on or off.",
    )


def parameters(schema: Json) -> tuple[Parameter, ...]:
    """The properties of an input schema, as far as they can be read."""
    properties = schema.get("properties")
    required = schema.get("required")
    must = set(required) if isinstance(required, list) else set()
    if not isinstance(properties, dict):
        return ()
    return tuple(
        Parameter(name, _type(value), name in must, _described(value))
        for name, value in properties.items()
    )


def _parts(row: CatalogTool) -> tuple[Part, ...]:
    t = row.tokens
    if t is None:
        return ()
    parts = (
        Part("Name", t.name, True),
        Part("Description", t.description, True),
        Part("Input schema", t.input_schema, True),
        Part("Output schema", t.output_schema, False),
        Part("Annotations", t.annotations, False),
    )
    return tuple(part for part in parts if part.counted or part.tokens)


def _advice(row: CatalogTool) -> str:
    t = row.tokens
    if t is None:
        return ""
    if t.input_schema > 1000 and t.input_schema > t.description:
        share = 100 * t.input_schema / max(1, t.host_text)
        return f"{share:.0f} % of it is the input schema: {count(t.input_schema)} tokens."
    if t.description > LONG_DESCRIPTION:
        share = 100 * t.description / max(1, t.host_text)
        return f"{share:.0f} % of it is the description: {count(t.description)} tokens."
    return ""


def _start(server: ServerRecord) -> str:
    verb = "Reached at" if server.spec.url else "Starts"
    return f"{verb} {chr(10).join(spec_text(server.spec).lines)}"


def _type(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    kind = value.get("type")
    if isinstance(kind, list):
        return " or ".join(str(k) for k in kind if k != "null")
    if kind == "array":
        inner = _type(value.get("items"))
        return f"array of {inner}" if inner else "array"
    if isinstance(kind, str):
        return kind
    several = value.get("anyOf") or value.get("oneOf")
    kinds = [_type(v) for v in several] if isinstance(several, list) else []
    return " or ".join(dict.fromkeys(k for k in kinds if k and k != "null"))


def _described(value: object) -> str:
    text = value.get("description") if isinstance(value, dict) else None
    return visible(text) if isinstance(text, str) else ""
