"""A small SQLite database of a shop."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from servers.kit import Kit, ToolError, maybe, number, text

START = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id),
    day TEXT, total REAL);
INSERT INTO customers (name, city) VALUES ('Ana', 'Lisbon'), ('Ben', 'Tokyo'), ('Cleo', 'Oslo');
INSERT INTO orders (customer_id, day, total) VALUES (1, '2026-11-02', 34.5),
    (1, '2026-11-09', 12.0), (3, '2026-11-11', 99.9);
"""
MOST_ROWS = 200


def make(folder: Path) -> Kit:
    """The tools of the database server."""
    kit = Kit("A SQLite database with customers and orders. Look at the schema before you query.")
    file = folder / "shop.db"
    if not file.exists():
        with sqlite3.connect(file) as fresh:
            fresh.executescript(START)
        fresh.close()
    table = text("Name of the table")

    @contextmanager
    def opened(*, writes: bool = False) -> Iterator[sqlite3.Connection]:
        mode = "rw" if writes else "ro"
        db = sqlite3.connect(f"{file.as_uri()}?mode={mode}", uri=True)
        db.row_factory = sqlite3.Row
        try:
            with db:
                yield db
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ToolError(f"SQLite says: {error}") from error
        finally:
            db.close()

    def known(name: str) -> str:
        if name not in list_tables():
            raise ToolError(f"There is no table called {name}.")
        return '"' + name.replace('"', '""') + '"'

    @kit.tool("List the names of all tables in the database.", reads=True)
    def list_tables() -> list[str]:
        with opened() as db:
            rows = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            return [row["name"] for row in rows]

    @kit.tool(
        "Describe a table: its columns, their types and which are required.",
        reads=True,
        table=table,
    )
    def describe_table(table: str) -> list[dict[str, Any]]:
        with opened() as db:
            return [dict(row) for row in db.execute(f"PRAGMA table_info({known(table)})")]

    @kit.tool(
        "Run a read-only SQL query (SELECT) and get the rows as JSON. Anything that would change "
        "data is refused.",
        reads=True,
        sql=text("One SELECT statement in SQLite's dialect"),
        limit=maybe(number("Largest number of rows", minimum=1, maximum=MOST_ROWS), 50),
    )
    def run_query(sql: str, limit: int) -> list[dict[str, Any]]:
        with opened() as db:
            return [dict(row) for row in db.execute(sql).fetchmany(min(limit, MOST_ROWS))]

    @kit.tool(
        "Explain how SQLite would run a query and which indexes it would use, without running it.",
        reads=True,
        sql=text("The query to explain"),
    )
    def explain_query(sql: str) -> list[str]:
        with opened() as db:
            return [row["detail"] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]

    @kit.tool("Count the rows of a table.", reads=True, table=table)
    def count_rows(table: str) -> int:
        with opened() as db:
            return int(db.execute(f"SELECT count(*) FROM {known(table)}").fetchone()[0])

    @kit.tool(
        "Add a customer to the table of customers. Returns the new id.",
        name=text("Name of the customer"),
        city=maybe(text("Where the customer lives")),
    )
    def add_customer(name: str, city: str | None = None) -> int:
        with opened(writes=True) as db:
            sql = "INSERT INTO customers (name, city) VALUES (?, ?)"
            return int(db.execute(sql, (name, city)).lastrowid or 0)

    @kit.tool(
        "Record an order of a customer with its day and total.",
        customer_id=number("Id of the customer"),
        day=text("Day of the order, YYYY-MM-DD"),
        total_cents=number("Sum of the order in cents", minimum=0),
    )
    def record_order(customer_id: int, day: str, total_cents: int) -> int:
        with opened(writes=True) as db:
            sql = "INSERT INTO orders (customer_id, day, total) VALUES (?, ?, ?)"
            return int(db.execute(sql, (customer_id, day, total_cents / 100)).lastrowid or 0)

    @kit.tool(
        "Delete one row of a table by its id. This cannot be undone.",
        destroys=True,
        table=table,
        row_id=number("Id of the row"),
    )
    def delete_row(table: str, row_id: int) -> str:
        with opened(writes=True) as db:
            gone = db.execute(f"DELETE FROM {known(table)} WHERE id = ?", (row_id,)).rowcount
        return f"{gone} row deleted."

    return kit
