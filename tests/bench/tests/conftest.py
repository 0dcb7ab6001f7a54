import json
import os
from pathlib import Path

import pytest

from app.core.paths import Paths
from app.encoder.onnx import Encoder
from app.encoder.weights import ModelFiles, ensure_model
from tests.app.ranking.conftest import fakes, make_router
from tests.bench.data.sets import QuerySet, read_set

__all__ = ["fakes", "make_router"]  # the fixtures of another folder

TOOLS = {
    "mail/send_mail": "Send an email to somebody",
    "mail/list_mail": "List the newest emails of the inbox",
    "files/read_file": "Read the text of a file on disk",
    "files/delete_file": "Delete a file from the disk",
    "maps/find_route": "Find the way from one place to another",
    "maps/find_place": "Find a shop or restaurant nearby",
    "music/play_song": "Play a song by name",
    "music/stop_music": "Stop the music",
    "shop/search_goods": "Search products by name and price",
    "shop/order_goods": "Order a product",
    "weather/forecast": "Tell tomorrow's weather",
    "bank/transfer": "Transfer money to an account",
}
QUERIES = [
    ("a#0", "mail Bob that I am late", ["mail/send_mail"]),
    ("b#0", "play Yesterday by the Beatles", ["music/play_song"]),
    ("b#1", "stop the music now", ["music/stop_music"]),
    ("c#0", "will it rain tomorrow", ["weather/forecast"]),
    ("d#0", "find shoes under 50 and order them", ["shop/search_goods", "shop/order_goods"]),
]


@pytest.fixture(scope="session")
def encoder(own_model: ModelFiles) -> Encoder:
    """The real encoder, with the one beside it that baselines are measured with."""
    assert own_model
    models = Path(os.environ["TOOLCRIB_MODELS"])
    return Encoder.load(ensure_model(Paths(models.parent, models)))


@pytest.fixture(scope="session")
def embeddings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of vectors for experiments that encode the whole shipped world: 7 s of CPU each."""
    return tmp_path_factory.mktemp("embeddings")


@pytest.fixture(scope="session")
def set_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small labelled query set on disk."""
    folder = tmp_path_factory.mktemp("data") / "api-bank"
    folder.mkdir()
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    tools = [
        {
            "server": t.split("/")[0],
            "name": t.split("/")[1],
            "description": d,
            "input_schema": schema,
        }
        for t, d in TOOLS.items()
    ]
    queries = [{"id": i, "query": q, "gold": g} for i, q, g in QUERIES]
    for name, rows in (("catalogue", tools), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def small_set(set_folder: Path) -> QuerySet:
    """The same set, read."""
    return read_set(set_folder)
