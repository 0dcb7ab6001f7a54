"""The first schema."""

from store.team.migrate import run_sql

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables, their policies and triggers."""
    run_sql("0001_first.sql")
