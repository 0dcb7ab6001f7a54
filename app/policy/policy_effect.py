"""Effect of a policy on a profile: tools and tokens before and after, and what else it narrows."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.catalog.catalog import Catalog
from app.core.text import plural
from app.policy.policy_file import Policy
from app.policy.project_policy import refusals

_MOST = 5  # names in a sentence


@dataclass(frozen=True, slots=True)
class Effect:
    """Tools and tokens that a policy leaves of a profile."""

    profile: str
    tools: tuple[int, int]  # before, after
    tokens: tuple[int, int]
    left_out: tuple[str, ...]  # ids of tools that it takes away
    refused: tuple[str, ...]  # demands beyond the profile
    notes: tuple[str, ...]  # its other limits, a sentence each

    @property
    def summary(self) -> str:
        """Tools and tokens in one sentence."""
        return (
            f"It leaves {self.tools[1]:,} of {plural(self.tools[0], 'tool')} of the profile"
            f" {self.profile}: {self.tokens[1]:,} of {self.tokens[0]:,} tokens."
        )


def effect_on(catalog: Catalog, policy: Policy) -> Effect:
    """The effect on the tools that are on in a profile."""
    before = catalog.shown
    after = [row for row in before if policy.allows(row.tool.tool_id)]
    on = [row.tool.tool_id for row in before]
    return Effect(
        catalog.profile.name,
        (len(before), len(after)),
        (sum(row.cost for row in before), sum(row.cost for row in after)),
        tuple(tool_id for tool_id in on if not policy.allows(tool_id)),
        refusals(policy, on, [server.name for server in catalog.servers]),
        tuple(_notes(policy)),
    )


def _notes(policy: Policy) -> Iterator[str]:
    if most := policy.budget.get("max_tools"):
        yield f"A session loads at most {plural(most, 'tool')}."
    if limit := policy.budget.get("limit"):
        yield f"A session loads tools of at most {limit:,} tokens."
    if policy.confirm:
        yield f"Calls wait for your yes: {_names(policy.confirm)}."
    if policy.always_include:
        yield f"Always in the menu: {_names(policy.always_include)}."
    if policy.conditions:
        yield f"Offered on a condition: {_names(tuple(policy.conditions))}."
    if policy.scopes:
        yield f"Only for some users: {_names(tuple(policy.scopes))}."
    if policy.evidence:
        yield policy.evidence.text


def _names(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
