"""No table of sessions."""

from store.team.migrate import run_sql

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Drop the table that nothing writes."""
    run_sql("0005_no_sessions.sql")
