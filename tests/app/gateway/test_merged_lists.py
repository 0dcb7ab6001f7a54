"""Lists of prompts and resources behind one entry: where nobody has them, nobody pretends to."""

import sys
from pathlib import Path

import pytest
from raw_host import RpcError

pytestmark = pytest.mark.usefixtures("encoderless")
FAKES = Path(__file__).parents[2] / "fakes"


def test_lists_that_the_only_server_refuses_are_refused_in_its_words(stocked, gateway):
    stocked({"alpha": "no-templates"})
    host = gateway()
    host.initialize()
    with pytest.raises(RpcError) as refused:
        host.request("resources/templates/list")
    assert (refused.value.code, refused.value.message) == (-32601, "no templates here")
    assert host.request("resources/list")["resources"]


def test_lists_that_no_server_has_are_refused(stocked, gateway):
    script = str(FAKES / "odd_upstream.py")
    stocked({"odd": {"command": sys.executable, "args": ["-S", script], "env": {}}})
    host = gateway()
    host.initialize()
    for method in ("prompts/list", "resources/list", "resources/templates/list"):
        with pytest.raises(RpcError) as refused:
            host.request(method)
        assert refused.value.code == -32601
