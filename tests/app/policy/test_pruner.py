from difflib import SequenceMatcher
from random import Random

from app.policy.budget import Budget
from app.policy.pruner import ALIKE, _could_be, _Text, duplicates, propose
from app.policy.usage import Usage
from store.records import Observed
from tests.app.policy.conftest import Make
from tests.fakes.cpu_time import CpuTime

MONTH = {"days": 30.0, "seen": Observed(hosts=2)}


def test_never_called_tools_go_first_and_nothing_more_than_needed_is_chosen(make: Make) -> None:
    tools = [
        make("a/used", 900),
        make("a/unused", 800),
        make("b/unused_too", 700),
        make("b/rare", 600),
    ]
    plan = propose(tools, Budget(limit=2_000), Usage(**MONTH, calls={"a/used": 50, "b/rare": 1}))
    assert [(m.kind, m.saves, m.chosen) for m in plan.moves] == [
        ("never called", 1_500, True),
        ("rarely called", 600, False),
    ]
    assert plan.needed == 1_000
    assert plan.enough
    assert plan.moves[0].title == "2 tools never called in 30 days"
    assert plan.moves[0].evidence == "Observed 30 days, 2 hosts, 51 calls."
    assert plan.moves[0].tool_ids == (2, 3)


def test_pinned_and_hidden_tools_are_never_proposed(make: Make) -> None:
    tools = [make("a/pinned", pinned=True), make("a/off", on=False), make("a/used")]
    plan = propose(tools, Budget(limit=10), Usage(**MONTH, calls={"a/used": 9}))
    assert plan.moves == ()
    assert not plan.enough


def test_with_few_days_nothing_is_called_unused(make: Make) -> None:
    plan = propose([make("a/x")], Budget(limit=10), Usage(days=3.4, calls={"b/y": 1}))
    assert plan.moves == ()
    assert plan.evidence == "Not enough evidence yet (3 of 7 days)."


def test_a_long_journal_without_any_call_is_no_evidence(make: Make) -> None:
    assert propose([make("a/x")], Budget(limit=10), Usage(**MONTH)).moves == ()


def test_duplicates_are_proposed_without_evidence_of_use(make: Make) -> None:
    same = {"description": "Read a file from disk and return its text", "properties": ("path",)}
    tools = [make("fs/read_file", 300, **same), make("fs2/read-file", 290, **same)]
    plan = propose(tools, Budget(limit=300), Usage())
    assert [m.kind for m in plan.moves] == ["duplicate"]
    assert plan.moves[0].tools[0].tool.server == "fs2"
    assert plan.moves[0].evidence == "fs2/read-file = fs/read_file."
    assert plan.enough


def test_of_two_duplicates_the_pinned_or_more_used_one_is_kept(make: Make) -> None:
    same = {"description": "Read a file from disk and return its text"}
    first, second = make("fs/read", **same), make("fs2/read", **same)
    assert duplicates([first, second], Usage(calls={"fs2/read": 3})) == [(first, second)]
    pinned = make("fs3/read", pinned=True, **same)
    assert duplicates([first, pinned]) == [(first, pinned)]


def test_the_same_name_is_not_enough_to_be_a_duplicate(make: Make) -> None:
    tools = [
        make("github/search", description="Search code on GitHub"),
        make("notion/search", description="Find pages and databases in the workspace"),
        make("x/search", description="Search code on GitHub", properties=("q", "limit")),
    ]
    assert duplicates(tools) == []


def test_a_cap_on_the_number_of_tools_is_met_too(make: Make) -> None:
    tools = [make(f"a/tool{n}") for n in range(10)]
    plan = propose(tools, Budget(max_tools=8), Usage(**MONTH, calls={"a/tool0": 1}))
    assert (plan.needed, plan.needed_tools) == (0, 2)
    assert sum(len(move.tools) for move in plan.moves if move.chosen) == 9
    assert plan.enough


def test_within_the_budget_moves_are_shown_but_none_is_chosen(make: Make) -> None:
    plan = propose([make("a/x"), make("a/y")], Budget(), Usage(**MONTH, calls={"a/x": 1}))
    assert [m.chosen for m in plan.moves] == [False]
    assert plan.frees == 0
    assert plan.enough


VERBS = ["reads", "writes", "lists", "makes", "finds", "sends", "moves", "copies", "opens"]
THINGS = ["a file of the project", "the issue in a tracker", "rows of a table", "a page by name"]


def sentences(count: int) -> list[str]:
    """Descriptions of about one length that say different things with the same letters."""
    random = Random(7)
    return [
        ". ".join(f"It {random.choice(VERBS)} {random.choice(THINGS)} {n % 97}" for _ in range(8))
        for n in range(count)
    ]


def test_what_is_passed_over_quickly_is_never_alike(make: Make) -> None:
    random = Random(5)
    for one in sentences(60):
        letters = list(one)
        for _ in range(random.randrange(30)):
            letters[random.randrange(len(letters))] = random.choice("abc xyz")
        other = "".join(letters)[random.randrange(9) :]
        texts = [_Text(make("a/b", description=text)) for text in (one, other)]
        alike = SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE
        assert not alike or _could_be(*texts)


def test_ten_thousand_tools_are_compared_in_bounded_time(make: Make) -> None:
    same = [
        make(f"s{n}/search_{n % 500}", description=text, properties=("query",))
        for n, text in enumerate(sentences(10_000))
    ]
    copies = [
        make(f"s{n}/search", description=f"Searches {n % 20} things", properties=("query",))
        for n in range(10_000)
    ]
    long = [
        make(f"s{n}/search", description=text * 5, properties=("query",))
        for n, text in enumerate(sentences(2_000))
    ]
    for tools in (same, copies, long):
        with CpuTime() as cpu:
            duplicates(tools)
        assert cpu.seconds < 5.0  # 43 s, when every text met every other
