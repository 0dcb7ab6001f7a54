"""Example queries from the catalogue."""

import pytest

from app.catalog.catalog import CatalogTool
from store.records import ServerRecord, ServerSpec, ToolRecord
from ui.pages.playground.examples import example_queries


def row(server, description, *, on=True):
    spec = ServerSpec("stdio", key=server)
    record = ServerRecord(1, server, spec, True, "read", "")
    raw = {"name": "t", "description": description}
    tool = ToolRecord(1, 1, server, "t", raw, "h", "h")
    return CatalogTool(tool, record, on, False, "", None, "")


def test_each_server_gives_one_request_in_the_imperative():
    rows = [
        row("files", "Reads the complete contents of a file. Then more."),
        row("files", "Write a file to the disk."),
        row("time", "Get the current time in a timezone\nand details"),
    ]
    assert example_queries(rows) == (
        "read the complete contents of a file",
        "get the current time in a timezone",
    )


def test_blank_lines_before_a_description_are_left_out():
    (query,) = example_queries([row("files", "\n\n  Write a file to the disk.\n")])
    assert query == "write a file to the disk"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("Echoes", "echo"), ("Searches", "search"), ("Processes", "process"), ("Copies", "copy"),
        ("Indexes", "index"), ("Closes", "close"), ("Caches", "cache"), ("Gets", "get"),
        ("Process", "process"),
    ],
)  # fmt: skip
def test_verbs_lose_the_ending_of_the_third_person(said, asked):
    assert example_queries([row("a", f"{said} the given input text.")]) == (
        f"{asked} the given input text",
    )


def test_descriptions_that_are_no_requests_are_passed_over():
    rows = [
        row("a", "notion | Retrieve a user"),
        row("b", "Short one."),
        row("c", "List `all` the things in the <b>place</b>"),
        row("d", "List all schemas in the database", on=False),
        row("e", ""),
    ]
    assert example_queries(rows) == ()


def test_no_more_than_asked_for_are_made():
    rows = [row(f"s{n}", f"Find all the open issues of project {n}") for n in range(9)]
    assert len(example_queries(rows)) == 3
