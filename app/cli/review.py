"""`toolcrib review`, `trust`, `hold`: reasons to distrust tools, and what is decided about them."""

import argparse
from difflib import unified_diff

from app.catalog.catalog import Catalog, load_catalog, match_tools, trust_server, trust_tools
from app.catalog.reasons import sentence
from app.catalog.server_findings import findings_of
from app.cli.console import Console, table
from app.cli.options import Verbs, add_profile, add_verb
from app.core.context import AppContext
from app.core.text import plural
from app.safety.hidden import spelled_out
from app.safety.notices import SERVER_TEXT, notices
from app.safety.review import Difference, differences, hold
from app.system.quoting import quoted
from store import findings
from store.connection import transaction

_MOST_LINES = 60  # of one part's difference; JSON has all


def add(verbs: Verbs) -> None:
    """Add the three verbs."""
    review = add_verb(
        verbs,
        "review",
        run_review,
        page='JSON: {"findings": [{"tool", "rule", "severity", "detail", "decided"}], '
        '"held": [{"tool", "why"}], "notices": [{"kind", "text", "about"}], '
        '"changes": [{"tool", "place", "before", "after"}]}.',
    )
    add_profile(review)
    review.add_argument("--info", action="store_true", help="also findings that are remarks only")
    for name, run, key in (("trust", run_trust, "trusted"), ("hold", run_hold, "held")):
        decide = add_verb(verbs, name, run, page=f'JSON: {{"{key}": [TOOL]}}.')
        decide.add_argument("tools", nargs="+", help="server, server/tool, or a pattern with *")
        add_profile(decide)


def run_review(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List findings, what is held back, and what changed in tools that were trusted."""
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        records = findings.all_findings(db)
    names = {t.tool.id: t.tool.tool_id for t in catalog.tools}
    rows = [
        {
            "tool": names[f.tool_id],
            "rule": f.rule,
            "severity": f.severity,
            "detail": f.detail,
            "decided": f.decided,
        }
        for f in records
        if f.tool_id in names and (args.info or f.severity != "info")
    ]
    rows += [
        {
            "tool": server.name,
            "rule": text_finding["rule"],
            "severity": text_finding["severity"],
            "detail": text_finding["detail"],
            "decided": text_finding["decided"],
        }
        for server in catalog.servers
        for text_finding in findings_of(server)
    ]
    profile_notices = [n for n in notices(catalog) if n.kind != SERVER_TEXT]
    held = [{"tool": t.tool.tool_id, "why": sentence(t.held)} for t in catalog.tools if t.held]
    changes = _changes(catalog)
    value = {
        "notices": [
            {"kind": n.kind, "text": n.text, "about": list(n.about)} for n in profile_notices
        ],
        "findings": rows,
        "held": held,
        "changes": [
            {"tool": tool, "place": d.place, "before": d.before, "after": d.after}
            for tool, d in changes
        ],
    }
    console.result(value, lambda: _text(rows, held, changes, [n.text for n in profile_notices]))
    return 0


def run_trust(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Trust servers and tools."""
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        servers = [s.id for name in args.tools if (s := catalog.server(name))]
        others = [name for name in args.tools if not catalog.server(name)]
        picked = match_tools(catalog, others)
        for server_id in servers:
            trust_server(db, server_id, ctx.clock())
        with transaction(db):
            trust_tools(db, [t.tool.id for t in picked], ctx.clock())
        names = _names(catalog, servers) + [t.tool.tool_id for t in picked]
    empty = [name for name in args.tools if catalog.server(name) and not _has_tools(catalog, name)]
    lines = [f"{plural(len(names), 'tool')} trusted."] if names or not empty else []
    lines += [f"{name} is trusted. Read its tools: toolcrib scan {quoted(name)}" for name in empty]
    console.result({"trusted": names}, lambda: "\n".join(lines))
    return 0


def _has_tools(catalog: Catalog, server: str) -> bool:
    return any(row.server.name == server for row in catalog.tools)


def run_hold(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Hold tools back."""
    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        picked = match_tools(catalog, args.tools)
        for row in picked:
            hold(db, row.tool.id, row.tool.hash, ctx.clock())
    names = [t.tool.tool_id for t in picked]
    console.result({"held": names}, lambda: f"{plural(len(names), 'tool')} held back.")
    return 0


def _names(catalog: Catalog, servers: list[int]) -> list[str]:
    return [t.tool.tool_id for t in catalog.tools if t.tool.server_id in servers]


def _changes(catalog: Catalog) -> list[tuple[str, Difference]]:
    """Differences from the trusted text, part by part, where that text was kept."""
    return [
        (row.tool.tool_id, part)
        for row in catalog.tools
        if row.tool.trusted_raw is not None and not row.tool.gone
        for part in differences(row.tool.trusted_raw, row.tool.raw)
    ]


def _text(
    rows: list[dict[str, str]],
    held: list[dict[str, str]],
    changes: list[tuple[str, Difference]],
    notes: list[str],
) -> str:
    if not rows and not held and not notes:
        return "Nothing to review."
    lines = list(notes)
    if rows:
        head = ["severity", "rule", "tool", "finding", "decided"]
        body = [[r["severity"], r["rule"], r["tool"], r["detail"], r["decided"]] for r in rows]
        lines.append(table([head, *body]))
    if held:
        lines.append("\nHeld back:")
        lines += [f"  {h['tool']}: {h['why']}" for h in held]
    for tool, part in changes:
        lines.append(f"\n{spelled_out(tool)}, {spelled_out(part.place)}:")
        lines += _changed_lines(part)
    return "\n".join(lines)


def _changed_lines(part: Difference) -> list[str]:
    """The lines that differ; what is invisible, such as control codes, is written out."""
    both = part.before.splitlines(), part.after.splitlines()
    lines = [line for line in list(unified_diff(*both, lineterm="", n=1))[2:] if line[0] != "@"]
    shown = [f"  {line[0]} {spelled_out(line[1:])}" for line in lines[:_MOST_LINES]]
    more = len(lines) - len(shown)
    return [*shown, f"  … {more} more lines (--json has all)"] if more > 0 else shown
