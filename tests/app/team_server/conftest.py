from tests.fakes.team_fixtures import connect, running_trial
from tests.fakes.team_store import dsn, make_team, pool, postgres

__all__ = ["connect", "dsn", "make_team", "pool", "postgres", "running_trial"]
