"""Words looked for among few tools."""

from store.team.migrate import run_sql

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make a function."""
    run_sql("0003_few.sql")
