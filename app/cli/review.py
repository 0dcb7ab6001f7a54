"""`toolcrib review` and `trust`: reasons to distrust tools, and what is decided about them."""

import argparse

from app.catalog import Catalog, load_catalog, match_tools, trust_server, trust_tools
from app.cli.console import Console, table
from app.cli.options import Verbs, add_profile
from app.context import AppContext
from store import findings
from store.connection import transaction


def add(verbs: Verbs, common: argparse.ArgumentParser) -> None:
    """Add both verbs."""
    review = verbs.add_parser(
        "review",
        parents=[common],
        help="findings: tools that changed, or whose text looks like an instruction",
        description='JSON: {"findings": [{"tool", "rule", "severity", "detail", "decided"}], '
        '"held": [{"tool", "why"}]}.',
    )
    add_profile(review)
    review.add_argument("--info", action="store_true", help="also findings that are remarks only")
    review.set_defaults(run=run_review)
    trust = verbs.add_parser(
        "trust",
        parents=[common],
        help="let servers or tools reach hosts, with their present texts",
        description='JSON: {"trusted": [TOOL]}.',
    )
    trust.add_argument("tools", nargs="+", help="server, server/tool, or a pattern with *")
    add_profile(trust)
    trust.set_defaults(run=run_trust)


def run_review(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """List findings and what is held back."""
    db = ctx.open_store()
    try:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        found = findings.all_findings(db)
    finally:
        db.close()
    names = {t.tool.id: t.tool.tool_id for t in catalog.tools}
    rows = [
        {
            "tool": names[f.tool_id],
            "rule": f.rule,
            "severity": f.severity,
            "detail": f.detail,
            "decided": f.decided,
        }
        for f in found
        if f.tool_id in names and (args.info or f.severity != "info")
    ]
    held = [{"tool": t.tool.tool_id, "why": t.held} for t in catalog.tools if t.held]
    console.result({"findings": rows, "held": held}, lambda: _text(rows, held))
    return 0


def run_trust(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Trust servers and tools."""
    db = ctx.open_store()
    try:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        servers = [s.id for name in args.tools if (s := catalog.server(name))]
        others = [name for name in args.tools if not catalog.server(name)]
        picked = match_tools(catalog, others)
        for server_id in servers:
            trust_server(db, server_id)
        with transaction(db):
            trust_tools(db, [t.tool.id for t in picked])
        names = _names(catalog, servers) + [t.tool.tool_id for t in picked]
    finally:
        db.close()
    console.result({"trusted": names}, lambda: f"{len(names)} tools trusted.")
    return 0


def _names(catalog: Catalog, servers: list[int]) -> list[str]:
    return [t.tool.tool_id for t in catalog.tools if t.tool.server_id in servers]


def _text(rows: list[dict[str, str]], held: list[dict[str, str]]) -> str:
    if not rows and not held:
        return "Nothing to review."
    lines = []
    if rows:
        head = ["severity", "rule", "tool", "finding", "decided"]
        body = [[r["severity"], r["rule"], r["tool"], r["detail"], r["decided"]] for r in rows]
        lines.append(table([head, *body]))
    if held:
        lines.append("\nHeld back:")
        lines += [f"  {h['tool']}: {h['why']}" for h in held]
    return "\n".join(lines)
