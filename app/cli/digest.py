"""`toolcrib digest`: the week in short, and proposals to put off or to take up."""

import argparse
from typing import TYPE_CHECKING

from app.catalog.catalog import load_catalog
from app.cli.console import Console, number, table
from app.cli.options import Verbs, add_profile, add_verb
from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.core.text import plural
from app.system.quoting import joined
from store.typed import Json

if TYPE_CHECKING:
    from app.host_status.digest import Digest
    from app.policy.proposals import Proposal

_MOST = 10  # tools named


def add(verbs: Verbs) -> None:
    """Add the verb."""
    digest = add_verb(
        verbs,
        "digest",
        run_digest,
        page='JSON: {"profile", "state", "sentence", "calls", "called": [{"tool", "calls"}],'
        ' "never_called": {"tools", "tokens"}, "hosts": [{"host", "requests", "tokens", "spent", '
        '"money"}], "proposals": [{"key", "kind", "title", "evidence", "tools", "saves", '
        '"budget", "command"}], "put_off": [{"key", "title", "until"}], "assumption"}; state is '
        "nothing, little or ready.",
    )
    add_profile(digest)
    group = digest.add_mutually_exclusive_group()
    group.add_argument("--snooze", metavar="KEY", help="put a proposal off for 30 days")
    group.add_argument("--never", metavar="KEY", help="never make a proposal again")
    group.add_argument("--again", metavar="KEY", help="undo both")


def run_digest(args: argparse.Namespace, ctx: AppContext, console: Console) -> int:
    """Print the digest, or decide on one of its proposals."""
    from app.host_status.digest import make_digest
    from app.host_status.sizes import measure
    from app.hosts.places import Places

    with ctx.store() as db:
        catalog = load_catalog(db, args.profile, ctx.settings.encoding)
        sizes = measure(db, Places.here(), catalog)
        digest = make_digest(db, catalog, sizes, ctx.clock(), price=ctx.settings.price)
        if args.snooze or args.never or args.again:
            done = _decide(db, digest, args, ctx.clock())
            console.result(done, lambda: done["text"])
            return 0
    console.result(digest_json(digest), lambda: _text(digest))
    return 0


def _decide(db: object, digest: "Digest", args: argparse.Namespace, now: float) -> Json:
    """Put one proposal off, or bring it back."""
    import apsw

    from app.policy.proposals import bring_back, snooze

    assert isinstance(db, apsw.Connection)
    if args.again:
        if not bring_back(db, args.again):
            raise ToolcribError(f"{args.again} is not put off.", "See: toolcrib digest --json")
        return {"key": args.again, "until": None, "text": "It is proposed again."}
    key = args.snooze or args.never
    proposal = next((one for one in digest.proposals if one.key == key), None)
    if proposal is None:
        known = "; ".join(one.key for one in digest.proposals) or "none"
        raise ToolcribError(f"There is no proposal {key}.", f"Proposals: {known}.")
    snooze(db, proposal, now, for_good=bool(args.never))
    until = "for good" if args.never else "for 30 days"
    undo = joined(["toolcrib", "digest", "--again", key])
    return {"key": key, "until": until, "text": f"Put off {until}. Undo: {undo}"}


def digest_json(digest: "Digest") -> Json:
    """The stable JSON form of a digest."""
    from app.policy.cost import ASSUMPTION

    return {
        "profile": digest.profile,
        "state": digest.state,
        "sentence": digest.sentence,
        "calls": digest.week.total,
        "called": [{"tool": one.row.tool.tool_id, "calls": one.calls} for one in digest.called],
        "never_called": {"tools": digest.never, "tokens": digest.never_tokens},
        "hosts": [
            {
                "host": one.host,
                "requests": one.requests,
                "tokens": one.tokens,
                "spent": one.spent,
                "money": round(one.money, 2),
            }
            for one in digest.hosts
        ],
        "proposals": [_proposal_json(one, digest.profile) for one in digest.proposals],
        "put_off": [
            {"key": one.proposal, "title": one.title, "until": one.until} for one in digest.put_off
        ],
        "evidence": digest.usage.evidence,
        "assumption": ASSUMPTION,
    }


def _proposal_json(proposal: "Proposal", profile: str) -> Json:
    return {
        "key": proposal.key,
        "kind": proposal.kind,
        "title": proposal.title,
        "evidence": proposal.evidence,
        "tools": [tool.tool.tool_id for tool in proposal.tools],
        "saves": proposal.saves,
        "budget": proposal.budget,
        "command": command_of(proposal, profile),
    }


def command_of(proposal: "Proposal", profile: str) -> str:
    """The command that takes a proposal up."""
    from app.policy.profiles import DEFAULT

    own = [] if profile == DEFAULT else ["--profile", profile]
    if proposal.budget:
        return joined(["toolcrib", "profile", "set", f"budget.tokens={proposal.budget}", *own])
    tools = [tool.tool.tool_id for tool in proposal.tools]
    own += ["--"] if any(name.startswith("-") for name in tools) else []
    return joined(["toolcrib", "profile", "off", *own, *tools])


def _text(digest: "Digest") -> str:
    from app.policy.cost import ASSUMPTION

    lines = [digest.sentence, digest.usage.evidence]
    if digest.called:
        rows = [["called this week", "calls"]]
        rows += [[one.row.tool.tool_id, number(one.calls)] for one in digest.called[:_MOST]]
        lines += ["", table(rows, right=frozenset({1}))]
    if digest.usage.total and digest.never:
        never = plural(digest.never, "tool")
        lines += ["", f"Not called in 30 days: {never}, {number(digest.never_tokens)} tokens."]
    if digest.hosts:
        rows = [["host", "requests", "tokens a request", "tokens this week", "cost"]]
        for one in digest.hosts:
            money = f"{one.money:,.2f}" if one.price else "no price set"
            numbers = [number(n) for n in (one.requests, one.tokens, one.spent)]
            rows.append([one.host, *numbers, money])
        lines += ["", table(rows, right=frozenset({1, 2, 3, 4})), ASSUMPTION]
    for proposal in digest.proposals:
        frees = f" (frees {number(proposal.saves)})" if proposal.tools else ""
        lines += ["", f"{proposal.title}{frees}", f"  {proposal.evidence}"]
        lines.append(f"  {command_of(proposal, digest.profile)}")
        lines.append(f"  {joined(['toolcrib', 'digest', '--snooze', proposal.key])}")
    if digest.put_off:
        lines += ["", f"Put off: {plural(len(digest.put_off), 'proposal')}."]
    return "\n".join(lines)
