from tests.fakes.team_store import dsn, make_team, pool, postgres

__all__ = ["dsn", "make_team", "pool", "postgres"]
