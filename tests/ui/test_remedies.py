"""What a remedy's button does."""

import pytest

from app.routing.ranked import Remedy
from app.settings import RoutingSettings
from ui.models.remedies import cure_of

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
    cure = cure_of(Remedy(name, value, ""), SETTINGS)
    assert cure.words == words
    assert getattr(cure.settings, name) == value
    assert not (cure.turn_on or cure.pin)


def test_ticks_and_pins_may_belong_together():
    cure = cure_of(Remedy("on,pinned", True, ""), SETTINGS)
    assert (cure.words, cure.turn_on, cure.pin) == ("Turn it on and pin it", True, True)
    assert cure_of(Remedy("pinned", True, ""), SETTINGS).words == "Pin it"


def test_trust_and_preconditions_are_not_decided_here():
    assert cure_of(Remedy("trusted", True, ""), SETTINGS) is None
    assert cure_of(Remedy("on,precondition", "after(x)", ""), SETTINGS) is None
    assert cure_of(None, SETTINGS) is None
