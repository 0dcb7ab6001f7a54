"""The cheapest moves that bring a profile under its budget, each with its evidence."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from app.catalog.catalog import CatalogTool
from app.core.text import plural
from app.policy.budget import Budget, Verdict
from app.policy.usage import Usage
from store.typed import compact_json

RARE_CALLS = 2  # at most this many calls in the period observed
COSTLY = 500  # tokens from which a rarely called tool is worth proposing
ALIKE = 0.9  # of descriptions, for two tools of the same name to count as one
_TINY = 1e-6
_WORK = 40_000_000  # comparisons of letters, past which only equal texts count
_PAIR_WORK = 10  # of them that looking up a pair of letters costs
_COMPARED = 2_000  # characters; comparing takes up to the cube of that, and servers write them


@dataclass(frozen=True, slots=True)
class Move:
    """Tools to turn off together, what that frees, and why it should not hurt."""

    kind: str  # never called | duplicate | rarely called
    title: str
    tools: tuple[CatalogTool, ...]
    saves: int  # tokens
    evidence: str
    chosen: bool = False  # needed to get within the budget, cheapest moves first

    @property
    def tool_ids(self) -> tuple[int, ...]:
        """Row ids of the tools."""
        return tuple(t.tool.id for t in self.tools)


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """Moves in the order of their cost to the user, and the verdict that the chosen ones reach."""

    moves: tuple[Move, ...]
    needed: int  # tokens to free
    needed_tools: int  # tools to turn off for the cap on their number
    evidence: str

    @property
    def frees(self) -> int:
        """Tokens that the chosen moves free."""
        return sum(m.saves for m in self.moves if m.chosen)

    @property
    def enough(self) -> bool:
        """True if the chosen moves end in a verdict other than BLOCK."""
        return self.within(t for m in self.moves if m.chosen for t in m.tools)

    def within(self, gone: Iterable[CatalogTool]) -> bool:
        """True if turning these off ends in a verdict other than BLOCK."""
        tools = list(gone)
        return sum(t.cost for t in tools) >= self.needed and len(tools) >= self.needed_tools


def propose(
    tools: Iterable[CatalogTool], budget: Budget, usage: Usage, counted: Verdict | None = None
) -> PrunePlan:
    """Moves over the tools shown; pinned tools are never proposed, and no tool twice.

    `counted` is the verdict on a host that is sent these tools: the gateway's menu counts in it,
    and so do tools that are off until the host's file is written, which frees them by itself.
    """
    every = list(tools)
    shown = [t for t in every if t.shown]
    tokens, number = sum(t.cost for t in shown), len(shown)
    if counted is not None:
        tokens = counted.tokens - sum(t.cost for t in every if not t.shown)
        number = counted.tools - (len(every) - len(shown))
    needed = max(0, tokens - budget.block_over)
    needed_tools = max(0, number - budget.max_tools) if budget.max_tools else 0
    left = [t for t in shown if not t.pinned]
    moves: list[Move] = []
    steps: Sequence[Callable[[list[CatalogTool]], Move | None]] = (
        lambda rest: _never_called(rest, usage),
        lambda rest: _duplicates(rest, shown, usage),
        lambda rest: _rarely_called(rest, usage),
    )
    for step in steps:
        move = step(left)
        if move:
            moves.append(move)
            taken = set(move.tool_ids)
            left = [t for t in left if t.tool.id not in taken]
    return _choose(PrunePlan(tuple(moves), needed, needed_tools, usage.evidence))


def duplicates(
    tools: Sequence[CatalogTool], usage: Usage | None = None
) -> list[tuple[CatalogTool, CatalogTool]]:
    """Pairs (spare, kept) of tools that say the same; pinned and more used ones are kept."""
    calls = usage.calls if usage else {}
    ordered = sorted(tools, key=lambda t: (not t.pinned, -calls.get(t.tool.tool_id, 0), t.tool.id))
    groups: dict[object, _Group] = {}
    work = _Work()
    pairs: list[tuple[CatalogTool, CatalogTool]] = []
    for tool in ordered:
        name = tool.tool.name.casefold().replace("-", "_")
        arguments = frozenset(tool.tool.input_schema.get("properties") or ())
        other = groups.setdefault((name, arguments), _Group(work)).like(tool)
        if other is not None:
            pairs.append((tool, other))
    return pairs


class _Work:
    """Budget of comparisons left: the texts, and their number, are the servers'."""

    def __init__(self) -> None:
        self._left = _WORK

    def allows(self, cost: int) -> bool:
        """Spend that much of the budget; False when it is exceeded."""
        self._left -= cost
        return self._left >= 0


class _Text:
    """A description that others of its name are compared with."""

    def __init__(self, tool: CatalogTool) -> None:
        self.tool, self.text = tool, tool.tool.description
        self._pairs: Counter[str] | None = None

    @property
    def pairs(self) -> Counter[str]:
        """Counts of each pair of neighbouring letters; most texts never need them."""
        if self._pairs is None:
            self._pairs = Counter(map("".join, pairwise(self.text)))
        return self._pairs


class _Group:
    """Kept tools of one name with the same arguments."""

    def __init__(self, work: _Work) -> None:
        self._work = work
        self._same: dict[tuple[str, str], CatalogTool] = {}  # by what is the same to the letter
        self._texts: list[_Text] = []

    def like(self, tool: CatalogTool) -> CatalogTool | None:
        """The kept tool that says the same; where there is none this one is kept too."""
        text = tool.tool.description
        exact = text, "" if text else compact_json(tool.tool.input_schema)
        if other := self._same.get(exact):
            return other
        if text and len(text) <= _COMPARED:
            new = _Text(tool)
            for kept in self._texts:
                if self._are_alike(new, kept):
                    return kept.tool
            self._texts.append(new)
        self._same[exact] = tool
        return None

    def _are_alike(self, one: _Text, other: _Text) -> bool:
        lengths = len(one.text), len(other.text)
        if 2 * min(lengths) < ALIKE * sum(lengths):
            return False
        if not self._work.allows(_PAIR_WORK * min(lengths)) or not _could_be(one, other):
            return False
        return self._work.allows(lengths[0] * lengths[1]) and _alike(one.text, other.text)


def _could_be(one: _Text, other: _Text) -> bool:
    """False where the ratio of two texts is below ALIKE for sure; most are, and this is quick.

    Of a ratio r and n letters in both together, (1 - r) n match nothing, so the matching r n / 2
    are in at most (1 - r) n + 1 runs, and in each run one pair fewer than letters matches.
    """
    total = len(one.text) + len(other.text)
    least = ALIKE * total / 2 - (1 - ALIKE) * total - 1
    few, many = sorted((one.pairs, other.pairs), key=len)
    matching = sum(min(times, many[pair]) for pair, times in few.items() if pair in many)
    return matching >= least - _TINY


def _alike(one: str, other: str) -> bool:
    match = SequenceMatcher(None, one, other, autojunk=False)
    return match.quick_ratio() >= ALIKE and match.ratio() >= ALIKE


def _never_called(left: list[CatalogTool], usage: Usage) -> Move | None:
    if not usage.enough or not usage.total:
        return None
    unused = [t for t in left if not usage.calls.get(t.tool.tool_id)]
    title = f"{plural(len(unused), 'tool')} never called in {round(usage.days)} days"
    return _move("never called", title, tools=unused, evidence=usage.evidence)


def _duplicates(left: list[CatalogTool], shown: list[CatalogTool], usage: Usage) -> Move | None:
    ids = {t.tool.id for t in left}
    pairs = [(spare, kept) for spare, kept in duplicates(shown, usage) if spare.tool.id in ids]
    pairs = [(s, k) for s, k in pairs if k.tool.id in ids or k.pinned]
    named = ", ".join(f"{s.tool.tool_id} = {k.tool.tool_id}" for s, k in pairs[:5])
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    return _move(
        "duplicate",
        f"{plural(len(pairs), 'tool')} of which another server has the same",
        tools=[spare for spare, _kept in pairs],
        evidence=f"{named}{more}.",
    )


def _rarely_called(left: list[CatalogTool], usage: Usage) -> Move | None:
    if not usage.enough or not usage.total:
        return None
    rare = [
        t for t in left if t.cost >= COSTLY and usage.calls.get(t.tool.tool_id, 0) <= RARE_CALLS
    ]
    count = plural(len(rare), "tool")
    title = f"{count} of {COSTLY} tokens and more, called at most {RARE_CALLS} times"
    return _move("rarely called", title, tools=rare, evidence=usage.evidence)


def _move(kind: str, title: str, *, tools: list[CatalogTool], evidence: str) -> Move | None:
    if not tools:
        return None
    ordered = sorted(tools, key=lambda t: (-t.cost, t.tool.tool_id))
    return Move(kind, title, tuple(ordered), sum(t.cost for t in ordered), evidence)


def _choose(plan: PrunePlan) -> PrunePlan:
    """Mark moves, in order, until they suffice."""
    chosen = plan
    for index in range(len(plan.moves)):
        if chosen.enough:
            break
        moves = tuple(replace(m, chosen=i <= index) for i, m in enumerate(plan.moves))
        chosen = replace(plan, moves=moves)
    return chosen
