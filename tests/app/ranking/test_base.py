"""The base scores that training starts from are the router's own."""

import numpy as np
import pytest

from app.core.settings import RoutingSettings
from app.ranking.learning.base import BaseScores
from store import vectors

QUERIES = [
    "merge the pull request",
    "zebra",
    "list the commits of /srv/channel/issue and read /tmp/branch.csv",
    "Read the file from disk and tell me what it says about the branch, and then create a new issue"
    " in the repository of the channel; post a message with the current time",
    "<tool_assistant>\nserver: github\ntool: list the commits of a branch\n</tool_assistant>",
]


@pytest.mark.parametrize("query", QUERIES)
def test_training_starts_from_what_the_router_says(make_router, query):
    router, db, _catalog = make_router(settings=RoutingSettings(name_weight=5.0))
    stored = vectors.load(db, router.encoder.key)
    keys = list(stored)
    tools = np.frombuffer(b"".join(stored.values()), dtype="<f4").reshape(len(keys), -1)
    servers = [router.server_ids[key] for key in keys]
    base = BaseScores(
        db,
        router.encoder,
        tools=tools,
        keys=keys,
        servers=servers,
        weights=router.word_weights,
    )
    scores = base.of(query).scores()
    said = {
        # what a named server and the order of steps change is not learned from
        c.row.tool.id: c.score
        - dict(c.parts).get("Order of steps", 0.0)
        - ("<tool" in query) * dict(c.parts).get("Server", 0.0)
        for c in router.score(query, learned=False).candidates
    }
    assert dict(zip(keys, scores.tolist(), strict=True)) == pytest.approx(said, abs=1e-5)
