from tests.fakes.team_fixtures import running_trial

__all__ = ["running_trial"]
