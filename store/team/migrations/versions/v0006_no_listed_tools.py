"""No tools of servers that could be installed."""

from store.team.migrate import run_sql

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Drop the column that is always true."""
    run_sql("0006_no_listed_tools.sql")
