"""Words on the menu in hosts' own instructions: between markers, taken out without a trace."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from app.core.context import AppContext
from app.core.errors import ToolcribError
from app.export.apply import apply, undo_writes
from app.hooks.files import remove, remove_all
from app.hooks.rules import (
    BEGIN,
    COST,
    END,
    RULES,
    rules_hosts,
    rules_plan,
    rules_state,
)
from app.hosts.facts import HostFacts, host
from app.hosts.places import Places
from store.records import AS_IS, THROUGH, ExportRecord
from tests.fakes.cpu_time import CpuTime

OWN = "# Mine\n\nAlways answer in French.\n"


@pytest.fixture
def db(ctx: AppContext) -> Iterator[apsw.Connection]:
    connection = ctx.open_store()
    yield connection
    connection.close()


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "home").mkdir()
    return Places(tmp_path / "home", {}, "linux")


def write(
    places: Places, facts: HostFacts, ctx: AppContext, db: apsw.Connection
) -> tuple[ExportRecord, ...]:
    return apply(rules_plan(places, facts, profile="default", mode=THROUGH), ctx, db)


@pytest.mark.parametrize("host_id", [facts.id for facts in rules_hosts()])
def test_each_hosts_file_gets_the_words_once_and_loses_them_without_a_trace(
    places: Places, ctx: AppContext, db: apsw.Connection, host_id: str
) -> None:
    facts = host(host_id)
    path = rules_state(places, facts).path
    assert not rules_state(places, facts).installed
    write(places, facts, ctx, db)
    assert path.read_text(encoding="utf-8") == f"{BEGIN}\n{RULES}\n{END}\n"
    assert rules_state(places, facts).installed
    assert rules_plan(places, facts, profile="default", mode=THROUGH).empty
    assert remove(facts, path, ctx, db) == (path,)
    assert not path.exists()
    assert remove(facts, path, ctx, db) == ()


@pytest.mark.parametrize(
    "own", [OWN, OWN.rstrip("\n"), OWN.replace("\n", "\r\n"), OWN.replace("\n", "\r"), ""]
)
def test_the_users_own_instructions_come_back_byte_for_byte(
    places: Places, ctx: AppContext, db: apsw.Connection, own: str
) -> None:
    facts = host("claude-code")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_bytes(own.encode())
    write(places, facts, ctx, db)
    assert path.read_bytes().startswith(own.encode())
    assert RULES.encode() in path.read_bytes()
    remove(facts, path, ctx, db)
    assert path.read_bytes() == own.encode()


def test_what_the_user_wrote_since_stays(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("claude-code")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text(OWN, encoding="utf-8")
    write(places, facts, ctx, db)
    text = path.read_text(encoding="utf-8")
    path.write_text(f"Before.\n{text}After.\n", encoding="utf-8")
    remove(facts, path, ctx, db)
    assert path.read_text(encoding="utf-8") == f"Before.\n{OWN}After.\n"


def test_a_file_that_we_made_stays_when_the_user_wrote_into_it(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("codex")
    path = rules_state(places, facts).path
    write(places, facts, ctx, db)
    path.write_text(path.read_text(encoding="utf-8") + "Mine.\n", encoding="utf-8")
    remove(facts, path, ctx, db)
    assert path.read_text(encoding="utf-8") == "Mine.\n"


def test_older_words_are_replaced_not_doubled(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("codex")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text(f"{OWN}\n{BEGIN}\nolder words\n{END}\n", encoding="utf-8")
    write(places, facts, ctx, db)
    assert path.read_text(encoding="utf-8") == f"{OWN}\n{BEGIN}\n{RULES}\n{END}\n"
    remove(facts, path, ctx, db)
    assert path.read_text(encoding="utf-8") == OWN


def test_a_write_is_undone_like_any_other(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("codex")
    path = rules_state(places, facts).path
    records = write(places, facts, ctx, db)
    undo_writes([record.id for record in records], ctx, db)
    assert not path.exists()


def test_the_way_out_takes_the_words_as_well(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("codex")
    path = rules_state(places, facts).path
    write(places, facts, ctx, db)
    assert remove_all(ctx, db, words=False).paths == ()  # toolcrib hook remove all
    assert path.exists()
    assert remove_all(ctx, db, words=True).paths == (path,)
    assert not path.exists()


def test_what_stands_after_a_damaged_marker_is_never_taken_out(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("codex")
    path = rules_state(places, facts).path
    write(places, facts, ctx, db)
    theirs = f"{BEGIN}\n{RULES}\n\nwritten later\n"  # the last marker was deleted by mistake
    path.write_text(theirs, encoding="utf-8")
    write(places, facts, ctx, db)
    with path.open("a", encoding="utf-8") as file:
        file.write("written last\n")
    remove(facts, path, ctx, db)
    assert path.read_text(encoding="utf-8") == f"{theirs}written last\n"


def test_a_file_that_is_not_utf8_is_left_alone(places: Places) -> None:
    facts = host("codex")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text(OWN, encoding="utf-16")
    with pytest.raises(ToolcribError, match="UTF-16") as error:
        rules_plan(places, facts, profile="default", mode=THROUGH)
    assert str(path) in error.value.title


def test_it_says_what_the_words_cost_and_needs_the_menu(places: Places) -> None:
    facts = host("codex")
    assert COST in rules_plan(places, facts, profile="default", mode=THROUGH).warnings
    with pytest.raises(ToolcribError, match="does not go through Toolcrib"):
        rules_plan(places, facts, profile="default", mode=AS_IS)
    for mode in (THROUGH, AS_IS):
        with pytest.raises(ToolcribError, match="no file of instructions of Cursor"):
            rules_plan(places, host("cursor"), profile="default", mode=mode)


@pytest.mark.parametrize(
    "theirs",
    [
        f"# How it looks\n\n```\n{BEGIN}\nmine\n{END}\n```\n",
        f"{BEGIN}\nmine\nand more of mine\n{END}\n",
        f"Text with {BEGIN} mine {END} in a line.\n",
        f"{BEGIN}\nmine\n\n{BEGIN}\n\nmine too\n{END}\n",
    ],
)
def test_the_users_words_between_markers_are_never_taken_out(
    places: Places, ctx: AppContext, db: apsw.Connection, theirs: str
) -> None:
    facts = host("claude-code")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    path.write_text(theirs, encoding="utf-8")
    write(places, facts, ctx, db)
    path.write_text(path.read_text(encoding="utf-8") + "later\n", encoding="utf-8")
    remove(facts, path, ctx, db)
    assert path.read_text(encoding="utf-8") == f"{theirs}later\n"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_of_any_end_come_back_byte_for_byte_beside_later_words(
    places: Places, ctx: AppContext, db: apsw.Connection, end: str
) -> None:
    facts = host("claude-code")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    own = OWN.replace("\n", end).encode()
    path.write_bytes(own)
    write(places, facts, ctx, db)
    assert path.read_bytes().count(b"\n") == own.count(b"\n") * (end != "\r") + 4 * (end != "\r")
    later = f"later{end}".encode()
    path.write_bytes(path.read_bytes() + later)
    remove(facts, path, ctx, db)
    assert path.read_bytes() == own + later


def test_a_file_of_instructions_that_is_too_large_is_left_alone(
    places: Places, ctx: AppContext, db: apsw.Connection
) -> None:
    facts = host("claude-code")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(20_000_001)
    with pytest.raises(ToolcribError, match="is too large") as error:
        write(places, facts, ctx, db)
    assert error.value.hint == "Toolcrib reads up to 20 MB."
    assert "is too large" in rules_state(places, facts).problem
    assert path.stat().st_size == 20_000_001


def test_a_file_full_of_markers_costs_time_in_proportion_to_its_length(places: Places) -> None:
    facts = host("claude-code")
    path = rules_state(places, facts).path
    path.parent.mkdir(parents=True)

    def cost(blocks: int) -> float:
        path.write_text(f"```\n```\n{BEGIN}\nx\n{END}\n" * blocks, encoding="utf-8")
        with CpuTime() as cpu:
            assert rules_state(places, facts).installed
        return cpu.seconds

    cost(100)
    assert min(cost(16_000) for _ in range(2)) < 32 * max(cost(2_000), 0.002)
