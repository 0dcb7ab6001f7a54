"""`toolcrib usage`: which tools were called, read from the hosts' own records after consent."""

import argparse
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.console import Console, number, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_group, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.evidence.formats import FORMATS, OPENCODE
from app.hosts.facts import host
from app.policy.cost import ASSUMPTION, HostCost
from app.policy.usage import Usage, read_usage
from store import host_records
from store.connection import transaction
from store.typed import Json

if TYPE_CHECKING:
    from app.host_status.sizes import HostSize

CONSENT = (
    "Toolcrib reads which tools were called, and when. It keeps no prompt, argument or result."
)


def add(verbs: Verbs) -> None:
    """Add the verb."""
    parts = add_group(
        verbs,
        "usage",
        page="Counts come from the gateway's journal and, after your consent, from the "
        "hosts' own records (Claude Code, Codex, Copilot CLI, Gemini CLI, Qwen Code, opencode). "
        'JSON of show: {"days", "tools": [{"tool", "calls", "last"}], "hosts": [{"host", '
        '"tokens", "requests", "days", "monthly_tokens", "monthly_price"}], "evidence", '
        '"assumption"}.',
    )
    reads = add_verb(parts, "read", run_read, "read what is new in the records")
    reads.add_argument("--yes", action="store_true", help="agree without being asked")
    shows = add_verb(parts, "show", run_show, "calls of each tool, cost by host")
    add_profile(shows)
    shows.add_argument(
        "--days", type=int, default=30, metavar="N", help="of the last N days (default: 30)"
    )
    shows.add_argument("--price", type=float, metavar="X", help="of a million input tokens; kept")
    add_verb(parts, "forget", run_forget, "delete the counts read from records")


def run_read(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Read the records; the first time it asks."""
    from app.evidence.reading import read_records

    if not ctx.settings.host_records and not args.yes and not _agreed(console):
        return NEEDS_CONSENT
    with ctx.store() as db:
        if not ctx.settings.host_records:
            ctx.keep(host_records=True)
        report = read_records(
            db,
            Path.home(),
            os.environ,
            ctx.clock(),
            progress=lambda done, total: console.progress(f"{done} of {total} records"),
            cancel=threading.Event(),
        )
    for note in report.notes:
        console.note(note)
    value = {
        "records": report.files,
        "read": report.read,
        "calls": report.calls,
        "requests": report.requests,
        "notes": list(report.notes),
    }
    console.result(
        value,
        lambda: (
            f"{number(report.calls)} new calls and {number(report.requests)} requests in"
            f" {number(report.read)} records. See them: toolcrib usage show"
        ),
    )
    return 0


def _agreed(console: Console) -> bool:
    names = ", ".join([*(host(form.host).name for form in FORMATS), host(OPENCODE).name])
    console.note(f"Records of these hosts would be read: {names}.")
    console.note(CONSENT)
    refused = "Nothing was read. To agree without being asked, add --yes."
    return console.agrees("Read them?", refused)


def run_show(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print calls and cost."""
    from app.catalog.catalog import load_catalog
    from app.host_status.sizes import measure
    from app.hosts.places import Places

    if args.price is not None and not 0 <= args.price < 1e6:
        raise ToolcribError(f"{args.price} is no price.", "Name one of at least 0.")
    with ctx.store() as db:
        if args.price is not None:
            ctx.keep(price=args.price)
        usage = read_usage(db, ctx.clock(), days=max(1, args.days))
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        sizes = measure(db, Places.here(), catalog)
    costs = [host_cost(size, usage, ctx.settings.price) for size in sizes]
    value: Json = {
        "days": round(usage.days, 1),
        "tools": [
            {"tool": tool, "calls": calls, "last": usage.last[tool]}
            for tool, calls in sorted(usage.calls.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        "hosts": [_cost_json(cost) for cost in costs if cost.known],
        "evidence": usage.evidence,
        "unknown": usage.unknown,
        "assumption": ASSUMPTION,
    }
    are_read = ctx.settings.host_records
    console.result(value, lambda: _text(value, costs, are_read=are_read))
    return 0


def host_cost(size: "HostSize", usage: Usage, price: float) -> HostCost:
    """Cost of a host's definitions, by the requests in its records."""
    key = size.facts.id
    requests, days = usage.requests.get(key, 0), usage.request_days.get(key, 0.0)
    return HostCost(key, size.sent.tokens, requests, days, price)


def _cost_json(cost: HostCost) -> Json:
    return {
        "host": cost.host,
        "tokens": cost.tokens,
        "requests": cost.requests,
        "days": round(cost.days, 1),
        "monthly_tokens": round(cost.monthly_tokens),
        "monthly_price": round(cost.monthly_price, 2),
    }


def _text(value: Json, costs: list[HostCost], *, are_read: bool) -> str:
    lines = [value["evidence"]]
    if value["tools"]:
        rows = [["tool", "calls"], *([t["tool"], number(t["calls"])] for t in value["tools"][:50])]
        lines.append(table(rows, right=frozenset({1})))
    if value["unknown"]:
        calls = plural(value["unknown"], "call")
        lines.append(f"Not in the catalogue: the tools of {calls}.")
    known = [cost for cost in costs if cost.known]
    if known:
        rows = [["host", "tokens a request", "requests", "days", "tokens a month", "cost a month"]]
        for cost in known:
            price = f"{cost.monthly_price:,.2f}" if cost.price else "no price set"
            rows.append(
                [
                    host(cost.host).name,
                    number(cost.tokens),
                    number(cost.requests),
                    f"{cost.days:.0f}",
                    number(round(cost.monthly_tokens)),
                    price,
                ]
            )
        lines += ["", table(rows, right=frozenset({1, 2, 3, 4, 5})), ASSUMPTION]
        if not known[0].price:
            lines.append("Set a price: toolcrib usage show --price 3 (of a million input tokens)")
    elif are_read:
        lines.append("The records that were read hold no request of a host on this machine.")
    else:
        lines.append("No requests are known. Read the hosts' records: toolcrib usage read")
    return "\n".join(lines)


def run_forget(_args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Delete the counts from the hosts' records, and read them no more."""
    with ctx.store() as db, transaction(db):
        host_records.forget_all(db)
    ctx.keep(host_records=False)
    console.result({"forgotten": True}, lambda: "Forgotten. The hosts' records are not read again.")
    return 0
