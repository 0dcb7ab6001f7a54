"""Words looked for by scope."""

from store.team.migrate import run_sql

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make an index and the function that reads it."""
    run_sql("0004_scopes.sql")
