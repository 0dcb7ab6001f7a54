import pytest

from app.core.settings import BudgetSettings
from app.policy.budget import Budget, verdict


@pytest.mark.parametrize(
    ("tokens", "word"),
    [(0, "PASS"), (15_999, "PASS"), (16_000, "WARN"), (20_000, "WARN"), (20_001, "BLOCK")],
)
def test_the_verdict_turns_at_the_warn_share_and_above_the_limit(tokens: int, word: str) -> None:
    assert verdict(tokens, 5, Budget()).word == word


@pytest.mark.parametrize(
    ("tools", "word"), [(31, "PASS"), (32, "WARN"), (40, "WARN"), (41, "BLOCK")]
)
def test_a_cap_on_the_number_of_tools_counts_whatever_their_size(tools: int, word: str) -> None:
    found = verdict(100, tools, Budget(max_tools=40))
    assert found.word == word
    assert len(found.reasons) == (word != "PASS")


def test_large_counts_of_tools_have_their_thousands_apart() -> None:
    (reason,) = verdict(100, 1_500, Budget(max_tools=40)).reasons
    assert reason == "1,500 tools are 1,460 over the cap of 40."


def test_the_worse_of_both_counts_and_both_are_said() -> None:
    found = verdict(30_000, 39, Budget(max_tools=40))
    assert found.word == "BLOCK"
    assert found.reasons == (
        "30,000 tokens are 10,000 over the limit of 20,000.",
        "39 tools are close to the cap of 40.",
    )
    assert found.over == found.to_free == 10_000


def test_a_higher_block_share_moves_the_line() -> None:
    found = verdict(30_000, 1, Budget(block_percent=150))
    assert (found.word, found.to_free) == ("WARN", 0)


def test_without_tools_even_a_budget_of_nothing_passes() -> None:
    assert verdict(0, 0, Budget(limit=0, max_tools=3)).word == "PASS"
    assert verdict(1, 1, Budget(limit=0)).word == "BLOCK"


def test_what_block_does_is_a_setting() -> None:
    def blocked(on_block: str) -> tuple[bool, bool]:
        found = verdict(30_000, 1, Budget(on_block=on_block))
        return found.refuses, found.asks

    assert blocked("refuse") == (True, False)
    assert blocked("ask") == (False, True)
    assert blocked("report") == (False, False)
    assert not verdict(1, 1, Budget(on_block="refuse")).refuses


def test_a_profiles_settings_become_a_budget_and_a_hosts_cap_fills_in() -> None:
    settings = BudgetSettings(tokens=9_000, warn_percent=50)
    assert Budget.from_settings(settings, host_limit=40).max_tools == 40
    assert Budget.from_settings(BudgetSettings(max_tools=12), host_limit=40).max_tools == 12
    changed = Budget.from_settings(settings).with_changes(limit=5_000)
    assert (changed.limit, changed.warn_from) == (5_000, 2_500)
