"""A repository's policy over a profile: it counts once it is trusted, narrows, and never widens."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import apsw

from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.policy.policy_file import MOST_BYTES, Policy, names_tool, parse_policy
from store import policies
from store.connection import transaction
from store.records import PolicyTrust
from store.typed import Any, Json, object_or_empty

TRUSTED, UNTRUSTED = "trusted", "not trusted"
CHANGED = "changed since it was trusted"
UNREADABLE = "cannot be used"


@dataclass(frozen=True, slots=True)
class ProjectPolicy:
    """A policy file as a session met it."""

    path: str
    digest: str = ""
    trusted: bool = False
    policy: Policy = field(default_factory=Policy)
    text: str = ""
    before: PolicyTrust = field(default_factory=PolicyTrust)
    problem: str = ""  # why the file cannot be used; nothing of it counts then

    @property
    def counts(self) -> bool:
        """True if the session is narrowed by it."""
        return self.trusted and not self.problem

    @property
    def waits(self) -> bool:
        """True if a decision on its present text is missing."""
        return not (self.trusted or self.problem) and self.before.put_off != self.digest

    @property
    def state(self) -> str:
        """State in one or two words."""
        if self.problem:
            return UNREADABLE
        if self.trusted:
            return TRUSTED
        return CHANGED if self.before.digest else UNTRUSTED

    @property
    def note(self) -> str:
        """One sentence for the reader of the gateway's answers, "" where nothing is wrong."""
        if self.problem:
            return f"The project's policy is not used: {self.problem}"
        if not self.trusted:
            return f"The project's policy {self.path} is not used until it is trusted in Toolcrib."
        return ""


def read_project_policy(db: apsw.Connection, path: str, at: float) -> ProjectPolicy:
    """The policy in a file, with its trust; what was met is remembered for the window."""
    try:
        data = read_plain(path, MOST_BYTES)
    except OSError as error:
        return ProjectPolicy(path, problem=f"{path} cannot be read: {error.strerror}.")
    digest = hashlib.sha256(data).hexdigest()
    with transaction(db):
        policies.note(db, path, digest, at)
    before = policies.trust_of(db, path)
    read = partial(ProjectPolicy, path, digest, before.digest == digest, before=before)
    try:
        policy = parse_policy(data, path)
    except ToolcribError as error:
        return read(problem=error.text)
    return read(policy=policy, text=data.decode("utf-8-sig"))


def narrowed(settings: Mapping[str, Any], policy: Policy) -> Json:
    """A profile's stored settings with the policy's; nothing is wider than before."""
    made = dict(settings)
    if policy.servers is not None:
        own = made.get("servers")
        names = policy.servers if own is None else [n for n in policy.servers if n in own]
        made["servers"] = list(names)
    budget, gateway = dict(made.get("budget") or {}), dict(made.get("gateway") or {})
    for key, stored in (("limit", "tokens"), ("max_tools", "max_tools")):
        wanted = policy.budget.get(key)
        if wanted:
            budget[stored] = min(wanted, budget.get(stored) or wanted)
    if limit := policy.budget.get("limit"):
        gateway["loaded_tokens"] = min(limit, gateway.get("loaded_tokens", 20_000))
    if most := policy.budget.get("max_tools"):
        gateway["loaded_tools"] = min(most, gateway.get("loaded_tools", 40))
    if policy.confirm:
        gateway["approve"] = [*gateway.get("approve", ()), *policy.confirm]
    routing = dict(made.get("routing") or {})
    for key, value in policy.routing.items():
        routing[key] = min(value, routing.get(key, 10)) if key == "k" else value
    made |= {"budget": budget, "gateway": gateway, "routing": routing}
    made["preconditions"] = _merged(made.get("preconditions"), policy.conditions)
    made["scopes"] = _narrowed_scopes(made.get("scopes"), policy.scopes)
    return made


def _merged(own: object, more: Mapping[str, Any]) -> Json:
    """Conditions of both; a pattern in both needs all of its conditions."""
    made: Json = {key: list(value) for key, value in object_or_empty(own).items()}
    for pattern, texts in more.items():
        made[pattern] = [*made.get(pattern, ()), *texts]
    return made


def _narrowed_scopes(own: object, more: Mapping[str, Any]) -> Json:
    """Scopes of both; a pattern in both is for those that both name."""
    made: Json = {key: list(value) for key, value in object_or_empty(own).items()}
    for pattern, names in more.items():
        known = made.get(pattern)
        made[pattern] = list(names) if known is None else [n for n in names if n in known]
    return made


def refusals(policy: Policy, on: Collection[str], servers: Collection[str]) -> tuple[str, ...]:
    """Demands of the policy beyond the profile, by name; `on` are ids of tools that are on."""
    lines = [
        f"{name}: the profile does not have this server."
        for name in policy.servers or ()
        if name not in servers
    ]
    lines += [
        f"{pattern}: no such tool is on in the profile; a policy switches none on."
        for pattern in policy.always_include
        if not any(names_tool(pattern, tool_id) for tool_id in on)
    ]
    return tuple(lines)


def trust_file(db: apsw.Connection, path: Path, at: float) -> ProjectPolicy:
    """Trust the present text of a policy file; ToolcribError where it cannot be used."""
    read = read_project_policy(db, str(path), at)
    if read.problem:
        raise ToolcribError(f"{path} was not trusted.", read.problem)
    decide(db, read, at, yes=True)
    return read_project_policy(db, str(path), at)


def decide(db: apsw.Connection, read: ProjectPolicy, at: float, *, yes: bool) -> PolicyTrust:
    """Let the text that was read count, or put it off; the decisions before.

    Another text that the file has meanwhile is not decided on. Putting off a text that counts
    takes its trust back.
    """
    before = policies.trust_of(db, read.path)
    if yes:
        after = PolicyTrust(read.digest, read.text)
    else:
        kept = before if before.digest != read.digest else PolicyTrust()
        after = replace(kept, put_off=read.digest)
    put_back(db, read.path, after, at)
    return before


def put_back(db: apsw.Connection, path: str, trust: PolicyTrust, at: float) -> None:
    """Make these the decisions on a file."""
    with transaction(db):
        policies.set_trust(db, path, trust, at)


def known_policies(db: apsw.Connection) -> list[ProjectPolicy]:
    """Policy files that sessions met, those that wait for a decision first; gone ones are left out.

    The time at which a session met them stays.
    """
    read = [
        read_project_policy(db, path, seen)
        for path, _hash, _trusted, seen in policies.all_policies(db)
        if Path(path).is_file()
    ]
    return sorted(read, key=lambda policy: not policy.waits)
