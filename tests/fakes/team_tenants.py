"""Random organisations that fill a team's database: every text holds the mark of its own."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase

from store.team import (
    blobs,
    labels,
    members,
    organisations,
    policies,
    profiles,
    reviews,
    servers,
    tokens,
    tools,
    upstream_secrets,
    use,
)
from store.team.connecting import Connection
from store.team.records import Finding, Member, NewRequest, NewServer, NewTool, TickRow
from store.team.words import Tokens
from tests.fakes.team_kit import unit

MODEL = "m"
TODAY = date(2026, 11, 26)
MARK = re.compile(r"org(\d+)x")  # every name and text of an organisation holds its mark
SECRET = re.compile(r"text(\d+)y")  # its texts hold this too, which no caller ever sends
SIGN_IN = ("none", "member", "organisation")
Seal = Callable[[int, int, str], bytes]  # organisation, server, text


@dataclass
class Agent:
    """A member's token, with an agent's allowlist or without one."""

    who: Member
    value: str


@dataclass
class Tenant:
    """An organisation with all that was put into it."""

    number: int
    id: int
    people: list[Member] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    grants: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by server
    sign_in: dict[str, str] = field(default_factory=dict)
    server_ids: list[int] = field(default_factory=list)
    tool_ids: dict[int, str] = field(default_factory=dict)
    profiles: dict[str, tuple[str, ...]] = field(default_factory=dict)  # grants by name

    @property
    def mark(self) -> str:
        return f"org{self.number}x"

    @property
    def text(self) -> str:
        return f"{self.mark} text{self.number}y"

    def opens(self, who: Member, grants: Sequence[str]) -> bool:
        own = {"organisation", f"role:{who.role}", f"member:{who.member_id}"}
        own |= {f"group:{group}" for group in who.groups}
        return who.role in ("editor", "admin") or bool(own & set(grants))

    def sees(self, who: Member, server: str) -> bool:
        return self.opens(who, self.grants[server])

    def servers(self, who: Member) -> set[str]:
        """Names of the servers that a member sees."""
        return {name for name in self.grants if self.sees(who, name)}

    def tools(self, who: Member) -> set[str]:
        """The tools that a caller sees: those of visible servers, within an agent's allowlist."""
        return {
            tool
            for tool in self.tool_ids.values()
            if self.sees(who, tool.split("/")[0])
            and (who.allow is None or any(fnmatchcase(tool, one) for one in who.allow))
        }


def fill(
    db: Connection,
    rng: random.Random,
    number: int,
    *,
    model: str = MODEL,
    seal: Seal = lambda _organisation, _server, text: text.encode(),
) -> Tenant:
    """A random organisation."""
    tenant = Tenant(number, organisations.create(db, f"org{number}x").id)
    for at in range(rng.randint(2, 4)):
        role = ("admin", "editor", "member", "member")[at]
        groups = tuple(rng.sample(["ops", "web", "data"], rng.randint(0, 2)))
        subject = rng.choice(["", f"s{at}"])
        tenant.people.append(
            members.add(
                db, tenant.id, f"{tenant.mark} {at}", role,
                groups=groups, issuer="https://i" if subject else "", subject=subject,
            )
        )  # fmt: skip
    for at in range(rng.randint(1, 3)):
        add_server(db, rng, tenant, at, model=model, seal=seal)
    policies.save(db, tenant.id, tenant.mark, tenant.text)
    blobs.save(db, tenant.id, "other", fingerprint=tenant.mark, data=tenant.text.encode())
    for who in tenant.people:
        for allow in (None, rng.choice(allowlists(tenant))):
            value = tokens.issue(db, who, tenant.mark, allow=allow)[1]
            named = Member(tenant.id, who.member_id, who.role, who.name, who.groups, allow)
            tenant.agents.append(Agent(named, value))
        labels.add(db, who, f"{tenant.text} {who.name}", [f"{tenant.mark}/t"], words="same words")
        use.count(db, who, [(TODAY, "call", f"{tenant.mark}/t", 1)])
    return tenant


def allowlists(tenant: Tenant) -> list[tuple[str, ...]]:
    """Allowlists of agents, those of no use among them."""
    return [(f"{tenant.mark}0/*",), ("*/t1",), ("nothing",), (), ("org_x_/t_",), ("*/*",)]


def add_server(
    db: Connection,
    rng: random.Random,
    tenant: Tenant,
    at: int,
    *,
    model: str = MODEL,
    seal: Seal = lambda _organisation, _server, text: text.encode(),
) -> None:
    """A server with tools, a finding, a decision, a credential and a profile."""
    name = f"{tenant.mark}{at}"
    member = rng.choice(tenant.people).member_id
    every = [("organisation",), ("role:member",), ("group:ops",), (f"member:{member}",), ()]
    tenant.grants[name] = grants = rng.choice(every)
    tenant.sign_in[name] = sign_in = rng.choice(SIGN_IN)
    server = NewServer(
        name, "http", url=f"http://127.0.0.1:9/{name}", grants=grants, sign_in=sign_in,
        instructions=tenant.text,
    )  # fmt: skip
    tenant.server_ids.append(id_ := servers.save(db, tenant.id, server))
    new = [made(rng, tenant, name, n, model) for n in range(rng.randint(1, 3))]
    ids = tools.save(db, tenant.id, id_, new)
    tenant.tool_ids.update(zip(ids, (f"{name}/{tool.name}" for tool in new), strict=True))
    reviews.save_findings(
        db, tenant.id, ids[0], [Finding(0, "r", "warn", tenant.text, new[0].hash)]
    )
    reviews.decide(
        db, tenant.id, ids[0], "approved", hash_=new[0].hash, member_id=member, reason=tenant.text
    )
    sealed = seal(tenant.id, id_, tenant.text)
    upstream_secrets.save(db, tenant.id, id_, sealed, key_name=tenant.mark)
    profile = f"{tenant.mark}-{at}"
    tenant.profiles[profile] = grants
    ticks = [TickRow(f"{name}/t0", pinned=True)]
    profiles.save(db, tenant.id, profile, {"x": tenant.text}, ticks, grants=grants)


def made(rng: random.Random, tenant: Tenant, server: str, n: int, model: str = MODEL) -> NewTool:
    """A tool whose words those of every organisation share."""
    text = f"reads common files {tenant.text}"
    words, length = Tokens().literal((0, f"t{n}", text, "", server, ""))
    request = NewRequest(f"please {tenant.text}", "pack", "h", {model: unit(rng.randint(0, 50))})
    return NewTool(
        f"t{n}", {"name": f"t{n}", "description": text}, f"{tenant.mark}{n}", text, 1,
        words, length, vocabulary=("common", f"common{tenant.mark}"),
        vectors={model: (tenant.mark, unit(rng.randint(0, 50)))}, requests=[request],
        trusted_hash=f"{tenant.mark}{n}",
    )  # fmt: skip
