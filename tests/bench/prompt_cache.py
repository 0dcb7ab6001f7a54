"""How much of a prompt stays a cacheable prefix from turn to turn, by layout."""

from collections.abc import Callable, Sequence

TURNS = 30
SYSTEM = 1_000  # tokens of the system prompt
TASK = 15_000  # tokens of messages and results after all turns
_TURN = TASK / TURNS

Segment = tuple[str, float]  # a name that changes with the content, tokens


def shares(
    *,
    full: float,
    retrieved: float,
    pool: float,
    promoted: float,
    menu: float,
    answer: float,
) -> list[tuple[str, float, float]]:
    """Per layout: share of the prompts that the prompt before began with, and uncached tokens."""
    layouts: dict[str, Callable[[int], list[Segment]]] = {
        "B1, list constant": lambda n: [("tools", full), ("system", SYSTEM), *_history(n)],
        "B1, list changes every turn": lambda n: [
            (f"tools {n}", full),
            ("system", SYSTEM),
            *_history(n),
        ],
        "B3, tools in front": lambda n: [
            (f"tools {n}", retrieved),
            ("system", SYSTEM),
            *_history(n),
        ],
        "Tool Attention": lambda n: [
            ("pool", pool),
            ("system", SYSTEM),
            *_history(n - 1),
            (f"promoted {n}", promoted),
            (f"turn {n}", _TURN),
        ],
        "Toolcrib gateway (search)": lambda n: [
            ("menu", menu),
            ("system", SYSTEM),
            *_history(n, answer),
        ],
    }
    return [(name, *_kept(layout)) for name, layout in layouts.items()]


def _history(turn: int, answer: float = 0.0) -> list[Segment]:
    """The turns so far; a search's answer stays where it was given, one every turn."""
    return [(f"turn {n}", _TURN + answer) for n in range(1, turn + 1)]


def _kept(layout: Callable[[int], Sequence[Segment]]) -> tuple[float, float]:
    total = cached = 0.0
    before: Sequence[Segment] = ()
    for turn in range(1, TURNS + 1):
        now = layout(turn)
        total += sum(tokens for _, tokens in now)
        for old, new in zip(before, now, strict=False):
            if old != new:
                break
            cached += new[1]
        before = now
    return cached / total, total - cached
