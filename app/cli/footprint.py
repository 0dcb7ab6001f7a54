"""`toolcrib footprint` and `toolcrib check`: cost of the tools, and the budget's verdict."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.catalog.catalog import Catalog, CatalogTool, load_catalog
from app.catalog.named_twice import NamedTwice, all_named_twice
from app.catalog.reasons import sentence
from app.cli.console import Console, number, table
from app.cli.options import NEEDS_CONSENT, Verbs, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.hosts.facts import host
from app.policy.expansion import Expansion, expand, read_known
from app.system.quoting import joined
from app.tokens.footprint import Footprint, footprint
from store.records import AS_IS, PRUNED
from store.typed import Json

if TYPE_CHECKING:
    from app.host_status.sizes import HostSize
    from app.policy.budget import Verdict
    from app.policy.pruner import Move

WORST = "worst"
FORMATS = ("text", "markdown", "junit", "json", "sarif")
OVER_BUDGET = 4


def add(verbs: Verbs) -> None:
    """Add both verbs."""
    cost = add_verb(
        verbs,
        "footprint",
        run_footprint,
        page="Counted over name, description and input "
        'schema. JSON: {"total_tokens", "tokenizer", "servers": [{"name", "tools", "tokens", '
        '"all_tools", "all_tokens"}], "hosts": [{"id", "name", "mode", "tools", "tokens", "later", '
        '"verdict"}], "hiding": [{"tool", "kind"}], "twice": [{"server", "host", "names", '
        '"command"}], "expanded": {"tools", "tokens", "unknown", "behind": [{"server", "tools", '
        '"tokens", "source"}]}}; with --tools each server also has "list". '
        '"hosts" is what the model of each host gets at its first request, "later" what the host '
        'itself loads on demand, "hiding" the tools that run others, "expanded" the count with '
        'what is known to be behind them, "twice" the servers that a host names twice.',
    )
    add_profile(cost)
    cost.add_argument(
        "--expand",
        action="store_true",
        help="start servers whose tools hide others, and ask their own search what is behind",
    )
    cost.add_argument("--yes", action="store_true", help="agree to --expand without being asked")
    cost.add_argument("--tools", action="store_true", help="list every tool")
    check = add_verb(
        verbs,
        "check",
        run_check,
        page="Compare the tools that are on, of all servers together or as one host's "
        "model gets them, with a budget. Exit code 4 when the verdict is "
        'the one named by --fail-on or worse. JSON: {"verdict", "host", "tokens", "budget", '
        '"tools", "reasons", "expanded" as in footprint, "hosts" [{"id", "verdict", '
        '"reasons", ...}], none with --host, "write" the command that takes what is off from '
        'that host\'s model}; --suggest adds "moves" [{"kind", '
        '"title", "tools", "saves", "evidence", "needed", "command"}] and "parts" [{"name", '
        '"servers", "tools", "tokens"}].',
    )
    add_profile(check)
    check.add_argument(
        "--suggest", action="store_true", help="the cheapest ways to get under the budget"
    )
    check.add_argument(
        "--host", metavar="HOST", help="what this host's model gets; worst: the host that is worst"
    )
    check.add_argument("--budget", type=int, metavar="N", help="tokens (default: the profile's)")
    check.add_argument("--warn", type=int, metavar="PCT", help="WARN from this share on")
    check.add_argument("--block", type=int, metavar="PCT", help="BLOCK above this share")
    check.add_argument("--max-tools", type=int, metavar="N", help="tools at most")
    check.add_argument(
        "--allow-empty", action="store_true", help="pass even if no tool has been read"
    )
    check.add_argument(
        "--fail-on",
        choices=("warn", "block"),
        default="block",
        help="exit with 4 from this verdict on (default: block)",
    )
    _add_project_options(check)


def _add_project_options(check: argparse.ArgumentParser) -> None:
    """The options of `check` that judge a repository instead of this machine's catalogue."""
    group = check.add_argument_group("a repository")
    group.add_argument(
        "--project",
        type=Path,
        metavar="DIR",
        help="judge this folder's .toolcrib.toml and toolcrib.lock; needs nothing installed",
    )
    group.add_argument("--start", action="store_true", help="start the project's servers")
    group.add_argument("--yes", action="store_true", help="start them without asking")
    group.add_argument("--format", choices=FORMATS, default="text", help="form of the answer")


def run_footprint(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print the footprint."""
    if args.expand:
        from app.cli.expanding import expand_hidden

        if not expand_hidden(args, ctx, console):
            return NEEDS_CONSENT
    catalog, sizes = _read(ctx, args.profile)
    cost = footprint(catalog.tools, catalog.encoding)
    whole, twice = read_expansion(ctx, catalog.tools), all_named_twice(catalog.servers)
    value = footprint_json(cost) | {
        "hosts": [size_json(size) for size in sizes],
        "hiding": [
            {"tool": tool.tool_id, "kind": tool.kind} for one in whole.behind for tool in one.hiding
        ],
        "expanded": expansion_json(whole),
        "twice": [_twice_json(one) for one in twice],
    }
    if args.tools:
        for server in value["servers"]:
            server["list"] = _tools(catalog, server["name"])
    console.result(
        value,
        lambda: (
            _text(cost, catalog, tools=args.tools)
            + _hosts_text(value["hosts"])
            + _hiding_text(whole)
            + _twice_text(twice)
        ),
    )
    return 0


def read_expansion(ctx: AppContext, tools: Sequence[CatalogTool]) -> Expansion:
    """Both numbers of these tools: listed, and with what is known to be behind them."""
    with ctx.store() as db:
        return expand(tools, read_known(db))


def expansion_json(whole: Expansion) -> Json:
    """The stable JSON form of a count after expansion."""
    return {
        "tools": whole.tools,
        "tokens": whole.tokens,
        "unknown": list(whole.unknown),
        "partial": list(whole.partial),
        "behind": [
            {
                "server": one.server,
                "tools": len(one.names),
                "tokens": one.tokens,
                "source": one.source,
                "missing": list(one.missing),
            }
            for one in whole.behind
        ],
    }


def _hiding_text(whole: Expansion) -> str:
    """Lines on the servers with tools that hide others, "" without one."""
    if not whole.behind:
        return ""
    lines = ["", "", "More than these tools can be reached:"]
    lines += [*(f"  {one.text}" for one in whole.behind), whole.sentence]
    if whole.unknown or whole.partial:
        lines.append("Ask these servers what is behind: toolcrib footprint --expand")
    return "\n".join(lines)


def _twice_json(one: NamedTwice) -> Json:
    """The stable JSON form, with the command that removes the spare name."""
    host, spare = one.spare.host, one.spare
    words = ["toolcrib", "server", "remove", spare.name, "--host", host]
    if spare.scope == "project":
        words += ["--file", spare.file]
    names = [entry.name for entry in one.entries]
    return {"server": one.server, "host": host, "names": names, "command": joined(words)}


def _twice_text(twice: Sequence[NamedTwice]) -> str:
    """Servers that a host names twice, with the next step; "" without one."""
    lines = [line for one in twice for line in _twice_lines(one)]
    return "\n".join(["", "", *lines]) if lines else ""


def _twice_lines(one: NamedTwice) -> tuple[str, str]:
    text = one.text(host(one.spare.host).name)
    return f"{one.server}: {text}", f"  {_twice_json(one)['command']}"


def run_check(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Compare with the budget, of this machine's catalogue or of a repository."""
    if args.project is not None:
        from app.cli.project_check import run_project_check

        return run_project_check(args, ctx, console)
    if args.start or args.format != "text":
        raise ToolcribError(
            "--format and --start are for the check of a project.",
            "Name its folder with --project DIR. For this machine's servers there is --json.",
        )
    from app.policy.budget import Budget, verdict

    catalog, sizes = _read(ctx, args.profile, only="" if args.host in (None, WORST) else args.host)
    _require_tools(catalog, allow_empty=args.allow_empty)
    if args.host and not sizes:
        _catalog, sizes = _read(ctx, args.profile)  # their names are the way out
    size = _chosen(sizes, args.host, allow_empty=args.allow_empty) if args.host else None
    _note_unread(catalog, size, console)
    for one in all_named_twice(catalog.servers):
        if size is None or size.facts.id == one.spare.host:
            console.note("\n".join(_twice_lines(one)))
    options = {
        "limit": args.budget,
        "warn_percent": args.warn,
        "block_percent": args.block,
        "max_tools": args.max_tools,
    }
    given = {k: v for k, v in options.items() if v is not None}
    own = size.verdict.budget if size else Budget.from_settings(catalog.settings.budget)
    budget = own.with_changes(**given)
    cost = footprint(catalog.tools, catalog.encoding)
    tokens, count = (
        (size.sent.tokens, size.sent.count) if size else (cost.shown_tokens, cost.shown_tools)
    )
    outcome = verdict(tokens, count, budget)
    whole = read_expansion(ctx, size.sent.tools if size else catalog.tools)
    value: Json = {
        "verdict": outcome.word,
        "host": size.facts.id if size else "",
        "tokens": tokens,
        "budget": budget.limit,
        "tools": count,
        "reasons": list(outcome.reasons),
        "expanded": expansion_json(whole),
        "hosts": [] if size else [_held_against(one, given) for one in sizes],
    }
    if args.suggest:
        value |= _suggestions(ctx, catalog, size, outcome)
    value["write"] = _write_command(size, moves=bool(value.get("moves")))
    console.result(value, lambda: _check_text(value, whole))
    failing = ("BLOCK",) if args.fail_on == "block" else ("WARN", "BLOCK")
    return OVER_BUDGET if outcome.word in failing else 0


def _write_command(size: "HostSize | None", *, moves: bool) -> str:
    """The command that takes tools off a host's model once they, or those of `moves`, are off."""
    if size is None or size.mode != AS_IS:
        return ""
    if size.once_written >= size.sent.tokens and not moves:
        return ""
    return joined(["toolcrib", "export", size.facts.id, "--mode", PRUNED])


def _held_against(size: "HostSize", given: dict[str, int]) -> Json:
    """One host's verdict, as `check --host` with the same options gives it."""
    from app.policy.budget import verdict

    budget = size.verdict.budget.with_changes(**given)
    outcome = verdict(size.sent.tokens, size.sent.count, budget)
    return size_json(size) | {"verdict": outcome.word, "reasons": list(outcome.reasons)}


def _read(ctx: AppContext, profile: str, only: str = "") -> "tuple[Catalog, tuple[HostSize, ...]]":
    """The catalogue as the profile sees it, and what each host's model, or one's, gets."""
    from app.host_status.sizes import measure
    from app.hosts.places import Places

    with ctx.store() as db:
        catalog = load_catalog(db, profile, ctx.settings.encoding)
        return catalog, measure(db, Places.here(), catalog, only=only)


def _require_tools(catalog: Catalog, *, allow_empty: bool) -> None:
    """Raise ToolcribError where no tool is known: a check of nothing says nothing."""
    if catalog.tools or allow_empty:
        return
    servers = plural(len(catalog.servers), "server")
    unread = f" Not read yet: {servers}." if catalog.servers else ""
    raise ToolcribError(
        f"No tools have been read, so there is nothing to check.{unread}",
        "Read them first with: toolcrib scan --yes. If an empty result is expected,"
        " add --allow-empty.",
    )


def _note_unread(catalog: Catalog, size: "HostSize | None", console: Console) -> None:
    """Name the servers whose tools are not in the number, as they are not known."""
    of = size.facts.id if size else ""
    unread = [
        server.name
        for server in catalog.servers
        if not server.read_at and any(not of or e.host == of for e in server.entries)
    ]
    unread = list(dict.fromkeys([*unread, *(size.unread if size else ())]))
    if unread:
        count = plural(len(unread), "server")
        console.note(f"Not counted, as not read: {count} ({', '.join(unread)}).")


def _chosen(sizes: "Sequence[HostSize]", host_id: str, *, allow_empty: bool) -> "HostSize | None":
    """The host of that id, or the one that is worst off; raises ToolcribError.

    None, for all servers together, where no host is worst as none gets anything and that is right.
    """
    from app.host_status.sizes import worst

    size = worst(sizes) if host_id == WORST else None
    size = size or next((size for size in sizes if size.facts.id == host_id), None)
    if size is None and host_id == WORST:
        if allow_empty:
            return None
        raise ToolcribError(
            "No host here gets a tool, so there is nothing to check.",
            "Read the hosts' servers with: toolcrib scan --yes. If none is right here, add"
            " --allow-empty.",
        )
    if size is None:
        known = ", ".join(size.facts.id for size in sizes) or "none"
        raise ToolcribError(
            f"No host called {host_id} has a server here that was read.",
            f"Hosts with one: {known}. To read others: toolcrib scan",
        )
    return size


def size_json(size: "HostSize") -> Json:
    """The stable JSON form of a host's size."""
    return {
        "id": size.facts.id,
        "name": size.host,
        "mode": size.mode,
        "tools": size.sent.count,
        "tokens": size.sent.tokens,
        "later": size.sent.later,
        "verdict": size.verdict.word,
    }


def footprint_json(cost: Footprint) -> Json:
    """The stable JSON form of a footprint."""
    return {
        "total_tokens": cost.shown_tokens,
        "tokenizer": cost.encoding,
        "servers": [
            {
                "name": s.name,
                "tools": s.shown_tools,
                "tokens": s.shown_tokens,
                "all_tools": s.tools,
                "all_tokens": s.tokens,
            }
            for s in cost.servers
        ],
        "fields": ["name", "description", "input_schema"],
        "all_tokens": cost.tokens,
    }


def _tools(catalog: Catalog, server: str) -> list[dict[str, object]]:
    own = [t for t in catalog.tools if t.server.name == server]
    return [
        {"name": t.tool.name, "on": t.shown, "tokens": t.cost, "held": sentence(t.held)}
        for t in sorted(own, key=lambda t: -t.cost)
    ]


def _text(cost: Footprint, catalog: Catalog, *, tools: bool) -> str:
    if not cost.servers:
        return catalog.why_empty
    rows = [["server", "tools on", "tokens ≈", "of all"]]
    for s in cost.servers:
        on = f"{s.shown_tools} of {s.tools}"
        rows.append([s.name, on, number(s.shown_tokens), number(s.tokens)])
        if tools:
            rows += [_tool_row(t) for t in _tools(catalog, s.name)]
    on = f"{cost.shown_tools} of {cost.tools}"
    rows.append(["all servers together", on, number(cost.shown_tokens), number(cost.tokens)])
    share = 100 * cost.shown_tokens / catalog.settings.budget.window
    return (
        f"{table(rows, right=frozenset({1, 2, 3}))}\n\nAll servers together are"
        f" {share:.0f} % of a {number(catalog.settings.budget.window)} window. Counted with"
        f" {cost.encoding} over name, description and input schema; models with another"
        " tokenizer get other numbers."
    )


def _hosts_text(sizes: Sequence[Json]) -> str:
    """Tokens that each host's model gets, as lines; "" where no host here has a server."""
    if not sizes:
        return ""
    rows = [["what a host's model gets", "way", "tools", "tokens ≈", "on demand", ""]]
    for one in sizes:
        later = number(one["later"]) if one["later"] else ""
        tools, tokens = number(one["tools"]), number(one["tokens"])
        rows.append([one["name"], one["mode"], tools, tokens, later, one["verdict"]])
    return f"\n\n{table(rows, right=frozenset({2, 3, 4}))}"


def _tool_row(tool: dict[str, object]) -> list[str]:
    state = "held" if tool["held"] else "on" if tool["on"] else "off"
    return [f"  {tool['name']}", state, number(int(str(tool["tokens"]))), ""]


def _check_text(value: Json, whole: Expansion) -> str:
    of = f"{host(value['host']).name} gets" if value["host"] else "all servers together have"
    lines = [
        f"{value['verdict']}: {of} {number(value['tokens'])} tokens of {number(value['budget'])}"
    ]
    lines += value["reasons"]
    lines += [whole.sentence] if whole.sentence else []
    lines += _hosts_lines(value["hosts"])
    for move in value.get("moves", ()):
        mark = "needed" if move["needed"] else "more"
        lines.append(f"  [{mark}] {move['title']}: saves {number(move['saves'])}")
        lines.append(f"    {move['evidence']}")
        lines.append(f"    {move['command']}")
    if len(value.get("parts", ())) > 1:
        lines.append("Or give narrower agents a profile each:")
        for part in value["parts"]:
            servers = ", ".join(part["servers"])
            named = "" if servers == part["name"] else f", {servers}"
            lines.append(f"  {part['name']}: {number(part['tokens'])} tokens{named}")
        lines.append("Make them with: toolcrib profile split")
    if value["write"] and value["verdict"] != "PASS":
        lines.append(
            f"What is off leaves {host(value['host']).name}'s model only when its file is written:"
        )
        lines.append(f"  {value['write']}")
    return "\n".join(lines)


def _hosts_lines(hosts: Sequence[Json]) -> list[str]:
    """Hosts whose own verdict is no PASS, as that of all servers does not say it."""
    lines = [f"{one['name']}: {one['verdict']}. {' '.join(one['reasons'])}" for one in hosts]
    over = [line for line, one in zip(lines, hosts, strict=True) if one["reasons"]]
    if over:
        over.append(
            "The verdict and the exit code are those of all servers. Of the hosts:"
            f" toolcrib check --host {WORST}"
        )
    return over


def _suggestions(
    ctx: AppContext, catalog: Catalog, size: "HostSize | None", outcome: "Verdict"
) -> Json:
    """The cheapest moves under the budget, and how the profile could be split."""
    from app.policy.clusters import plan_split
    from app.policy.moves import moves_for
    from app.policy.sessions import read_sessions
    from app.policy.usage import DAY, read_usage

    now = ctx.clock()
    with ctx.store() as db:
        usage = read_usage(db, now)
        sessions = read_sessions(db, now - 30 * DAY)
    tools = size.sent.tools if size else catalog.tools
    host, limit = (size.host, size.facts.tool_limit) if size else ("", 0)
    profile = (size.catalog if size else catalog).profile.name
    moves = moves_for(tools, outcome, usage, host=host, limit=limit).all
    try:
        parts = plan_split(profile, tools, outcome.budget, sessions).profiles
    except ToolcribError:  # the pinned tools alone are over the budget
        parts = ()
    return {
        "moves": [_move_json(move, profile) for move in moves],
        "parts": [
            {"name": p.name, "servers": p.servers, "tools": len(p.tools), "tokens": p.tokens}
            for p in parts
        ],
    }


def _move_json(move: "Move", profile: str) -> Json:
    """A move with the command that makes it, of all its tools."""
    from app.policy.profiles import DEFAULT

    tools = [t.tool.tool_id for t in move.tools]
    of = [] if profile == DEFAULT else ["--profile", profile]
    if any(name.startswith("-") for name in tools):
        of.append("--")
    return {
        "kind": move.kind,
        "title": move.title,
        "tools": tools,
        "saves": move.saves,
        "evidence": move.evidence,
        "needed": move.chosen,
        "command": joined(["toolcrib", "profile", "off", *of, *tools]),
    }
