"""What a remedy's button does."""

import pytest

from app.core.settings import RoutingSettings
from app.ranking.gates import Remedy
from ui.shell.remedies import settings_remedy

SETTINGS = RoutingSettings()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("delta", 0.42, "Widen the cut to 0.42"),
        ("theta", 0.21, "Lower the threshold to 0.21"),
        ("floor", 0.1, "Lower the floor to 0.10"),
        ("k", 12, "Raise top-k to 12"),
        ("token_budget", 5200, "Raise the budget to 5,200"),
    ],
)
def test_a_setting_is_changed_and_nothing_else(name, value, words):
    cure = settings_remedy(Remedy((name,), value), SETTINGS)
    assert cure.words == words
    assert getattr(cure.settings, name) == value
    assert not (cure.turn_on or cure.pin)


def test_ticks_and_pins_may_belong_together():
    cure = settings_remedy(Remedy(("on", "pinned")), SETTINGS)
    assert (cure.words, cure.turn_on, cure.pin) == ("Turn it on and pin it", True, True)
    assert settings_remedy(Remedy(("pinned",)), SETTINGS).words == "Pin it"


def test_trust_and_preconditions_are_not_decided_here():
    assert settings_remedy(Remedy(("trusted",)), SETTINGS) is None
    assert settings_remedy(Remedy(("on", "precondition")), SETTINGS) is None
    assert settings_remedy(None, SETTINGS) is None
