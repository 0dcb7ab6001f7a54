"""A repository's policy over a profile: it counts once it is trusted, narrows, and never widens."""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from app.core.errors import ToolcribError
from app.core.plain_read import read_plain
from app.policy.policy_file import MOST_BYTES, Policy, names_tool, parse_policy
from store import policies
from store.connection import transaction
from store.typed import Any, Json


@dataclass(frozen=True, slots=True)
class ProjectPolicy:
    """A policy file as a session met it."""

    path: str
    digest: str = ""
    trusted: bool = False
    policy: Policy = field(default_factory=Policy)
    problem: str = ""  # why the file cannot be used; nothing of it counts then

    @property
    def counts(self) -> bool:
        """True if the session is narrowed by it."""
        return self.trusted and not self.problem

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
    trusted = policies.trusted_hash(db, path) == digest
    try:
        policy = parse_policy(data, path)
    except ToolcribError as error:
        return ProjectPolicy(path, digest, trusted, problem=f"{error.title} {error.hint}")
    return ProjectPolicy(path, digest, trusted, policy)


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
    made: Json = {key: list(value) for key, value in own.items()} if isinstance(own, dict) else {}
    for pattern, texts in more.items():
        made[pattern] = [*made.get(pattern, ()), *texts]
    return made


def _narrowed_scopes(own: object, more: Mapping[str, Any]) -> Json:
    """Scopes of both; a pattern in both is for those that both name."""
    made: Json = {key: list(value) for key, value in own.items()} if isinstance(own, dict) else {}
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
    with transaction(db):
        policies.trust(db, read.path, read.digest, at)
    return read_project_policy(db, str(path), at)
