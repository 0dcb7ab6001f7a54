"""Words counted by scope."""

from store.team.migrate import run_sql

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables, their triggers and policies; count what is there."""
    run_sql("0002_words.sql")
