from tests.fakes.team_fixtures import connect, running_trial

__all__ = ["connect", "running_trial"]
