"""Profiles for narrow agents: clusters of tools used together, each inside the budget.

Sessions count first: an owner's calls stay in one profile, and owners with much in common share
one. What room is left takes tools of the same families; tools that no session called come in
profiles of their own, by server. A tool may be in several.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from app.catalog.catalog import CatalogTool
from app.core.errors import ToolcribError
from app.core.text import plural
from app.policy.budget import Budget
from app.policy.profiles import LONGEST, name_problem
from app.policy.sessions import Owner, Session, by_owner
from app.policy.splitter import split, subject

ALIKE = 0.5  # of the smaller cluster's tokens, from which two are one
SHARED = 0.7  # of the budget that clusters may fill by merging: families need room
MOST_CLUSTERS = 100  # that are compared in pairs


@dataclass(frozen=True, slots=True)
class Served:
    """An owner with its calls, and how many of them the profile has the tool for."""

    owner: Owner
    calls: int
    kept: int

    @property
    def lost(self) -> int:
        """Calls of tools that the profile does not have."""
        return self.calls - self.kept


@dataclass(frozen=True, slots=True)
class NewProfile:
    """A profile to be made: its tools, and what it lacks of those that are on now."""

    name: str
    tools: tuple[CatalogTool, ...]
    lost_tools: int
    lost_tokens: int
    served: tuple[Served, ...] = ()

    @property
    def tokens(self) -> int:
        """Tokens of its tools."""
        return sum(tool.cost for tool in self.tools)

    @property
    def servers(self) -> tuple[str, ...]:
        """Names of their servers."""
        return tuple(dict.fromkeys(tool.server.name for tool in self.tools))

    @property
    def loss(self) -> str:
        """One sentence on what it lacks."""
        if not self.lost_tools:
            return "It has every tool that is on now."
        calls = sum(one.lost for one in self.served)
        seen = sum(one.calls for one in self.served)
        share = f"{calls:,}" if calls else "None"
        used = f" {share} of the {plural(seen, 'call')} seen went to them." if seen else ""
        return f"Without {plural(self.lost_tools, 'tool')} ({self.lost_tokens:,} tokens).{used}"


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """Profiles that a profile would be split into."""

    base: str
    budget: Budget
    profiles: tuple[NewProfile, ...]
    left_out: tuple[CatalogTool, ...] = ()  # over the budget by themselves
    sessions: int = 0  # that the clusters are made of

    @property
    def evidence(self) -> str:
        """One sentence on what the clusters follow."""
        if self.sessions:
            return f"By the tools that {plural(self.sessions, 'session')} called together."
        return "By server: no calls are known yet."


def plan_split(
    base: str,
    tools: Iterable[CatalogTool],
    budget: Budget,
    sessions: Sequence[Session],
    taken: Collection[str] = (),
) -> SplitPlan:
    """Profiles over the tools shown; `taken` are names that they cannot have."""
    shown = [tool for tool in tools if tool.shown]
    room = _Room.of(budget, [tool for tool in shown if tool.pinned])
    fitting = [tool for tool in shown if tool.pinned or room.takes([tool])]
    by_id = {tool.tool.tool_id: tool for tool in fitting if not tool.pinned}
    used = by_owner(sessions)
    clusters = _clusters(used, by_id, room)
    for cluster in clusters:
        _fill(cluster, list(by_id.values()), room)
    covered = {name for cluster in clusters for name in cluster.tools}
    rest = [tool for name, tool in by_id.items() if name not in covered]
    together = [tuple(session.calls) for session in sessions]
    sets = [list(cluster.tools.values()) for cluster in clusters]
    sets += [list(part.tools) for part in split(rest, room.budget, together)]
    if not sets and room.pinned:
        sets = [[]]
    made = _Namer(taken)
    profiles = [_profile(made, [*room.pinned, *tools], shown, used) for tools in sets]
    return SplitPlan(
        base,
        budget,
        tuple(_assigned(profiles, used)),
        tuple(tool for tool in shown if tool not in fitting),
        len(sessions),
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """Tokens and tools that a profile has beside the pinned tools, which each one gets."""

    budget: Budget
    pinned: tuple[CatalogTool, ...]

    @classmethod
    def of(cls, budget: Budget, pinned: Sequence[CatalogTool]) -> "_Room":
        """The room of a budget; ToolcribError where the pinned tools leave none."""
        tokens = budget.limit - sum(tool.cost for tool in pinned)
        most = budget.max_tools - len(pinned) if budget.max_tools else 0
        if tokens < 0 or (budget.max_tools and most <= 0):
            raise ToolcribError(
                "The pinned tools alone are over the budget, and each profile has them.",
                "Unpin some of them, or raise the budget.",
            )
        return cls(budget.with_changes(limit=tokens, max_tools=most), tuple(pinned))

    def takes(self, tools: Collection[CatalogTool], share: float = 1.0) -> bool:
        """True if so many fit in that share of it."""
        tokens, most = self.budget.limit * share, self.budget.max_tools
        return sum(t.cost for t in tools) <= tokens and not (most and len(tools) > most * share)


@dataclass(slots=True)
class _Cluster:
    """Tools used together, by id, with their calls."""

    tools: dict[str, CatalogTool] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)

    def merged(self, other: "_Cluster") -> "_Cluster":
        """Both as one."""
        return _Cluster(self.tools | other.tools, self.calls + other.calls)


def _clusters(
    used: Mapping[Owner, Mapping[str, int]], by_id: Mapping[str, CatalogTool], room: _Room
) -> list[_Cluster]:
    """Each owner's calls as far as they fit, merged while they are alike."""
    groups: dict[frozenset[str], _Cluster] = {}
    for calls in used.values():
        known = {name: number for name, number in calls.items() if name in by_id}
        cluster = _most_called(known, by_id, room)
        if cluster.tools:
            key = frozenset(cluster.tools)
            groups[key] = groups[key].merged(cluster) if key in groups else cluster
    ordered = sorted(groups.values(), key=lambda c: (-c.calls.total(), sorted(c.tools)))
    return _merged(ordered[:MOST_CLUSTERS], room)


def _most_called(
    calls: Mapping[str, int], by_id: Mapping[str, CatalogTool], room: _Room
) -> _Cluster:
    """Tools that fit and have most of the calls: by calls, or by calls for each token."""
    best = _Cluster()
    for weight in (lambda _cost: 1, lambda cost: max(1, cost)):
        cluster = _Cluster()
        for name in sorted(calls, key=lambda n: (-calls[n] / weight(by_id[n].cost), n)):
            if room.takes([*cluster.tools.values(), by_id[name]]):
                cluster.tools[name], cluster.calls[name] = by_id[name], calls[name]
        best = max(best, cluster, key=lambda c: c.calls.total())
    return best


def _merged(clusters: list[_Cluster], room: _Room) -> list[_Cluster]:
    """Clusters with most in common as one, while families still have room."""
    left = dict(enumerate(clusters))
    alike = {(a, b): _likeness(left[a], left[b]) for a, b in combinations(left, 2)}
    while alike:
        pair = max(alike, key=lambda p: (alike[p], -p[0], -p[1]))
        if alike.pop(pair) < ALIKE:
            break
        one, other = pair
        both = left[one].merged(left[other])
        if not room.takes(both.tools.values(), SHARED):
            continue
        left[one] = both
        del left[other]
        alike = {p: value for p, value in alike.items() if other not in p}
        for number in left:
            if number != one:
                alike[min(one, number), max(one, number)] = _likeness(both, left[number])
    return list(left.values())


def _likeness(one: _Cluster, other: _Cluster) -> float:
    """Share of the smaller one's tokens that the other has too."""
    common = sum(one.tools[name].cost for name in one.tools.keys() & other.tools.keys())
    smaller = min(sum(t.cost for t in c.tools.values()) for c in (one, other))
    return common / smaller if smaller else 0.0


def _fill(cluster: _Cluster, tools: Sequence[CatalogTool], room: _Room) -> None:
    """Give the room that is left to tools by the calls that they can expect for each token.

    What was called twice stays. One call says less than it seems: a part of it goes to the tools
    of its server that were not called yet (absolute discounting), so that a costly tool called
    once may give way to several cheap ones. Tools of a subject that was called count double.
    """
    once = [name for name, calls in cluster.calls.items() if calls == 1 and name in cluster.tools]
    seen = Counter(cluster.tools[name].server.name for name in cluster.tools)
    subjects = {(t.server.name, subject(t.tool.name)) for t in cluster.tools.values()}
    family = [t for t in tools if t.server.name in seen and t.tool.tool_id not in cluster.tools]
    weights = {
        tool.tool.tool_id: 2 if (tool.server.name, subject(tool.tool.name)) in subjects else 1
        for tool in family
    }
    of_server: Counter[str] = Counter()
    for tool in family:
        of_server[tool.server.name] += weights[tool.tool.tool_id]
    discount = _discount(cluster.calls.values())
    expected = dict.fromkeys(once, 1 - discount)
    for tool in family:
        server, name = tool.server.name, tool.tool.tool_id
        expected[name] = discount * seen[server] * weights[name] / of_server[server]
    options = [*family, *(cluster.tools.pop(name) for name in once)]
    for tool in sorted(
        options, key=lambda t: (-expected[t.tool.tool_id] / max(1, t.cost), t.tool.tool_id)
    ):
        if room.takes([*cluster.tools.values(), tool]):
            cluster.tools[tool.tool.tool_id] = tool


def _discount(calls: Collection[int]) -> float:
    """Part of a call that goes to tools without one, by how many were called once and twice."""
    counts = Counter(calls)
    once, twice = counts[1], counts[2]
    return min(max(once / (once + 2 * twice), 0.3), 0.9) if once else 0.5


def _profile(
    namer: "_Namer",
    tools: Sequence[CatalogTool],
    shown: Sequence[CatalogTool],
    used: Mapping[Owner, Mapping[str, int]],
) -> NewProfile:
    calls: Counter[str] = Counter()
    for by_tool in used.values():
        calls.update(by_tool)
    sizes = Counter(tool.server.name for tool in tools)
    weights: Counter[str] = Counter()
    for tool in tools:
        weights[tool.server.name] += calls[tool.tool.tool_id]
    servers = sorted(sizes, key=lambda name: (-weights[name], -sizes[name], name))
    inside = {tool.tool.id for tool in tools}
    lost = [tool for tool in shown if tool.tool.id not in inside]
    return NewProfile(
        namer.name(servers),
        tuple(tools),
        lost_tools=len(lost),
        lost_tokens=sum(tool.cost for tool in lost),
    )


def _assigned(
    profiles: Sequence[NewProfile], used: Mapping[Owner, Mapping[str, int]]
) -> list[NewProfile]:
    """The profiles with the owners that each serves best; of equals the smaller profile."""
    ids = [{tool.tool.tool_id for tool in profile.tools} for profile in profiles]
    served: list[list[Served]] = [[] for _ in profiles]
    for owner, calls in sorted(used.items()):
        kept = [sum(n for name, n in calls.items() if name in inside) for inside in ids]
        if not kept or not max(kept):
            continue
        best = max(range(len(profiles)), key=lambda n: (kept[n], -profiles[n].tokens, -n))
        served[best].append(Served(owner, sum(calls.values()), kept[best]))
    return [
        replace(profile, served=tuple(owners))
        for profile, owners in zip(profiles, served, strict=True)
    ]


class _Namer:
    """Names by servers that no profile has yet."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)

    def name(self, servers: Sequence[str]) -> str:
        """A name for a profile of these servers, the most used first."""
        more = f" and {len(servers) - 2} more" if len(servers) > 2 else ""
        own = f"{', '.join(servers[:2])}{more}"[: LONGEST - 4].strip(" -") or "tools"
        if name_problem(own, ()):
            own = "tools"
        number, name = 1, own
        while name in self._taken:
            number += 1
            name = f"{own} {number}"
        self._taken.add(name)
        return name
