"""What a model reads until it calls the right tool: all tools, plain search, a hook's suggestion.

A scripted agent over a real gateway and the real hook command; no model is asked anything.
"""

import json
import random
import re
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from app.tokens.counters import Counter
from app.tokens.host_text import host_text
from store.typed import Json
from tests.bench.data.embeddings import CachedEncoder
from tests.bench.data.sets import Labelled, QuerySet
from tests.bench.hooks.live import Connection, Home, home_with
from tests.bench.paper import CACHED_PRICE, PRICE, utilisation
from tests.bench.report import COMPUTED, Cell, Column, Table, label, table

PROMPTS = 40  # of a set
_WARMING = 40  # prompts, for one of which at least a hook speaks
SEED = 42
ALL, SEARCH, HOOK = "all tools listed", "plain search", "suggested by the hook"
_RESAMPLES = 1000
_COLUMNS = (
    label("method"),
    Column("prompts"),
    Column("tokens/turn"),
    Column("± 95 %", COMPUTED),
    Column("first request, tokens"),
    Column("tokens to the call"),
    Column("turns to the call"),
    Column("turns saved beside search", COMPUTED),
    Column("reached %"),
    Column("in the first request %"),
    Column("rho T30", COMPUTED),
    Column("Toolcrib ms p50"),
    Column("Toolcrib ms p95"),
    Column("$ per 1,000 prompts", COMPUTED),
    Column("$ with a prompt cache", COMPUTED),
)


@dataclass(slots=True)
class Trip:
    """One prompt's way to the call of its tool."""

    tools: int  # tokens of the tool list, in every request
    turns: list[int] = field(default_factory=list)  # tokens of each request
    reached: bool = False  # the right tool's arguments are in the last request
    ms: float = 0.0  # that Toolcrib took

    @property
    def dollars(self) -> float:
        """Nothing cached."""
        return sum(self.turns) * PRICE / 1e6

    @property
    def cached_dollars(self) -> float:
        """The tool list is cached from other prompts, and each request from the one before."""
        before = [self.tools, *self.turns]
        pairs = zip(before, self.turns, strict=False)
        return sum(old * CACHED_PRICE + (new - old) * PRICE for old, new in pairs) / 1e6


class Agent:
    """Reads what it is sent, searches with the prompt, calls the right tool once it can.

    It takes a right tool wherever it stands with its arguments, which flatters no method: each is
    charged only for what it puts before the model.
    """

    def __init__(self, given: QuerySet, home: Home, count: Counter) -> None:
        self._home = home
        self._count = count.count
        self._all = sum(self._count(host_text(dict(tool.raw))) for tool in given.tools)
        with Connection(home) as gateway:
            menu = gateway.request("tools/list", {})["tools"]
        self._menu = sum(self._count(host_text(tool)) for tool in menu)

    def listed(self, query: Labelled) -> Trip:
        """Every tool's own schema in the request, without Toolcrib."""
        return Trip(self._all, [self._all + self._count(query.query)], reached=True)

    def searching(self, query: Labelled) -> Trip:
        """The menu: a search with the prompt's words, another by name where it was only named."""
        trip = Trip(self._menu, [self._menu + self._count(query.query)])
        with Connection(self._home) as gateway:
            self._search(gateway, query, trip)
        return trip

    def hooked(self, query: Labelled, gateway: Connection, conversation: str) -> Trip:
        """The menu and what the hook adds; a search where that does not hold the right tool."""
        made = gateway.suggestion(query.query, conversation)
        size = self._menu + self._count(query.query) + self._count(made.text)
        trip = Trip(self._menu, [size], ms=made.wall_ms)
        trip.reached = any(has_arguments(made.text, name) for name in right_tools(query))
        if not trip.reached:
            self._search(gateway, query, trip)
        return trip

    def _search(self, gateway: Connection, query: Labelled, trip: Trip) -> None:
        words = query.query
        for _ in range(2):
            text = self._answer(gateway, words, trip)
            names = right_tools(query)
            trip.reached = any(has_arguments(text, name) for name in names)
            words = next((name for name in names if is_named(text, name)), "")
            if trip.reached or not words:
                return

    def _answer(self, gateway: Connection, words: str, trip: Trip) -> str:
        """A search's answer; the next request holds it and the call behind all that was there."""
        arguments: Json = {"query": words}
        began = time.perf_counter()
        text = gateway.call("search_tools", arguments)
        trip.ms += (time.perf_counter() - began) * 1000
        call = json.dumps({"name": "search_tools", "arguments": arguments}, ensure_ascii=False)
        trip.turns.append(trip.turns[-1] + self._count(call) + self._count(text))
        return text


def right_tools(query: Labelled) -> list[str]:
    """The labelled tools and those that do the same."""
    return [*query.gold.tools, *query.gold.same]


def is_named(text: str, name: str) -> bool:
    """Whether the text names the tool."""
    return bool(re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w/-])", text))


def has_arguments(text: str, name: str) -> bool:
    """Whether the text says how to call the tool, not only that there is one."""
    tool = re.escape(name)
    # a signature, or the one tool that an answer describes: it stands at the beginning
    signature, described = rf"(?m)^(?:- )?{tool}\(", rf"(?s){tool}: .*?\narguments: "
    return bool(re.search(signature, text) or re.match(described, text))


def measured(
    given: QuerySet,
    prompts: Sequence[Labelled],
    encoder: CachedEncoder,
    count: Counter,
    models: Path,
) -> dict[str, list[Trip]]:
    """Every prompt's trip by each method, over a real gateway that holds the set."""
    chosen = random.Random(SEED).sample(list(prompts), min(PROMPTS, len(prompts)))
    with (
        tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder,
        home_with(Path(folder), given, encoder, models) as home,
    ):
        with Connection(home) as gateway:  # a host that runs for a while, as a person's does
            home.wait_for_hook([query.query for query in given.queries[:_WARMING]])
            agent = Agent(given, home, count)
            hooked = [agent.hooked(q, gateway, f"{place}") for place, q in enumerate(chosen)]
        return {
            ALL: [agent.listed(query) for query in chosen],
            SEARCH: [agent.searching(query) for query in chosen],
            HOOK: hooked,
        }


def rows(trips: dict[str, list[Trip]]) -> list[tuple[Cell, ...]]:
    """A row a method."""
    searched = mean(len(trip.turns) for trip in trips[SEARCH])
    return [(method, *_figures(made, searched)) for method, made in trips.items()]


def as_table(title: str, made: Sequence[Sequence[Cell]]) -> Table:
    """Rows of one catalogue, or the means over several."""
    return table(title, _COLUMNS, made)


def means(every: Collection[Sequence[tuple[Cell, ...]]]) -> list[tuple[Cell, ...]]:
    """Each method's mean over the sets; prompts are added up."""
    made = []
    for of_sets in zip(*every, strict=True):
        method, counts, *figures = zip(*of_sets, strict=True)
        made.append((method[0], sum(counts), *(mean(column) for column in figures)))
    return made


def by_set(every: dict[str, list[tuple[Cell, ...]]]) -> Table:
    """The main figures of each set."""
    wanted = ("tokens/turn", "tokens to the call", "turns to the call", "reached %")
    places = [[column.name for column in _COLUMNS].index(name) for name in wanted]
    columns = [label("set"), label("method"), *map(Column, wanted)]
    return table(
        "Each set",
        columns,
        [
            (name, row[0], *(row[place] for place in places))
            for name, of_set in every.items()
            for row in of_set
        ],
    )


def _figures(trips: Sequence[Trip], searched: float) -> tuple[Cell, ...]:
    a_turn = mean(map(_a_turn, trips))
    ms = sorted(trip.ms for trip in trips)
    return (
        len(trips),
        a_turn,
        _half_width([_a_turn(trip) for trip in trips]),
        mean(trip.turns[0] for trip in trips),
        mean(sum(trip.turns) for trip in trips),
        mean(len(trip.turns) for trip in trips),
        searched - mean(len(trip.turns) for trip in trips),
        100 * mean(trip.reached for trip in trips),
        100 * mean(trip.reached and len(trip.turns) == 1 for trip in trips),
        utilisation(a_turn),
        _at(ms, 0.5),
        _at(ms, 0.95),
        1000 * mean(trip.dollars for trip in trips),
        1000 * mean(trip.cached_dollars for trip in trips),
    )


def _a_turn(trip: Trip) -> float:
    return sum(trip.turns) / len(trip.turns)


def _half_width(values: Sequence[float]) -> float:
    """Half of the 95 % bootstrap interval of the mean."""
    draw: Callable[..., list[float]] = random.Random(SEED).choices
    made = sorted(mean(draw(values, k=len(values))) for _ in range(_RESAMPLES))
    return (_at(made, 0.975) - _at(made, 0.025)) / 2


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]


def notes(encoding: str) -> tuple[str, ...]:
    """What was counted, and how."""
    return (
        f"Turns: {PROMPTS} prompts a set at most, drawn with seed {SEED}; tokens by {encoding}, of"
        " the tool list in host text, the prompt, the hook's text, calls and answers as the real"
        " gateway and the real hook command (100 ms for its answer) gave them; a host's own"
        " system prompt is left out. Search: a session a prompt; hook: a session that has been"
        " connected for a while. All tools: each server's own definitions, without Toolcrib.",
        "A turn is a request to the model. The agent is a script: it calls a right tool as soon as"
        " its arguments are in the request, searches with the prompt itself, once more by name"
        " where the answer only names the tool, and then gives up: no model's choices are in it."
        " Tokens and turns to the call are of all prompts, also of those given up.",
        "Toolcrib ms: hook command and searches of a prompt, wall time on a shared machine; the"
        f" model's own time is not measured. Dollars: {PRICE:g} a million input tokens,"
        f" {CACHED_PRICE:g} from the cache, output left out; rho: a task of 15,000 tokens.",
    )
