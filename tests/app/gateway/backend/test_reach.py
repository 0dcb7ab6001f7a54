"""A gateway whose entry names its servers serves no other one: alone, through the backend."""

from collections.abc import Callable
from pathlib import Path

import pytest
import raw_host

pytestmark = pytest.mark.usefixtures("encoderless", "backends")
ONLY = ("--profile", "default", "--servers", "alpha")
Start = Callable[..., raw_host.RawHost]


@pytest.fixture(params=["gateway", "adapter"])
def start(request: pytest.FixtureRequest) -> Start:
    """Starts a gateway of its own, or an adapter of the backend."""
    return request.getfixturevalue(request.param)


def test_menu_search_calls_and_lists_know_the_named_servers_alone(
    stocked: Callable[..., Path], log: Callable[[str], list[object]], start: Start
) -> None:
    stocked({"alpha": "ok", "beta": "ok"})
    host = start(*ONLY)
    host.initialize()
    menu = host.tools()
    assert "Servers: alpha." in menu[0]["description"]
    assert "beta" not in host.search("echo a text")
    assert "beta" not in host.search("beta")
    assert raw_host.text(host.run("alpha/echo", {"text": "hi"})) == "hi"
    before = len(log("beta"))
    for name in ("beta/echo", "beta__echo"):
        refused = raw_host.text(host.run(name, {"text": "hi"}))
        assert refused != "hi" and "beta" not in refused.replace(name, "")
    assert len(log("beta")) == before, "it was started"
    prompts = host.request("prompts/list")["prompts"]
    assert prompts and not any("beta" in prompt["name"] for prompt in prompts)


def test_an_entry_that_names_no_server_reaches_none(
    stocked: Callable[..., Path], start: Start
) -> None:
    stocked({"alpha": "ok"})
    host = start("--profile", "default", "--servers", "")
    host.initialize()
    assert "alpha" not in str(host.tools()) + host.search("echo a text")


def test_an_entry_of_an_earlier_build_serves_what_it_did(
    stocked: Callable[..., Path], start: Start
) -> None:
    stocked({"alpha": "ok", "beta": "ok"})
    host = start("--profile", "default")
    host.initialize()
    assert "Servers: alpha, beta." in host.tools()[0]["description"]
