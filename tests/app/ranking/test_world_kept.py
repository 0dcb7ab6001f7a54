"""The world's vectors beside the exported encoder: made once a machine, not once a store."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from app.core.settings import RoutingSettings
from app.indexing import requests as editing
from app.indexing.indexer import Indexer
from app.ranking import world
from app.ranking.floor import load_floor
from app.ranking.world import World, WorldRequest
from store import tools
from tests.fakes.routing_fakes import ANIMALS, WordEncoder, filled

WORLD = tuple(WorldRequest(f"order {n} pizzas for table {n}") for n in range(30))


@pytest.fixture
def encoder() -> WordEncoder:
    return WordEncoder()


@pytest.fixture(autouse=True)
def small_world(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world, "world_requests", lambda: WORLD)


@pytest.fixture
def made(encoder: WordEncoder) -> World:
    one = World.encode(encoder)
    assert one is not None
    return one


def rows(one: World, encoder: WordEncoder) -> list[float]:
    return one.likeness(np.stack([encoder.encode([text])[0] for text in ("pizza", "table 7")]))


def test_what_is_kept_is_what_was_made(made, encoder, tmp_path):
    assert World.kept_in(tmp_path, encoder.key, encoder.dims) is None
    made.keep_in(tmp_path)
    kept = World.kept_in(tmp_path, encoder.key, encoder.dims)
    assert kept is not None and kept.mark == made.mark
    assert rows(kept, encoder) == rows(made, encoder)


@pytest.mark.parametrize("harm", [b"", b"x", None, "zeros", "nan"])
def test_a_file_that_is_not_whole_is_made_again(made, encoder, tmp_path, harm):
    made.keep_in(tmp_path)
    (file,) = tmp_path.iterdir()
    size = file.stat().st_size
    damaged = {
        None: file.read_bytes()[:-2],
        "zeros": bytes(size),
        "nan": np.full(size // 2, np.nan, dtype="<f2").tobytes(),
    }
    file.write_bytes(damaged.get(harm, harm))
    assert World.kept_in(tmp_path, encoder.key, encoder.dims) is None


def test_another_world_takes_the_place_of_the_old_one(made, encoder, tmp_path, monkeypatch):
    made.keep_in(tmp_path)
    (tmp_path / "model.onnx").touch()
    monkeypatch.setattr(world, "world_requests", lambda: WORLD[:20])
    assert World.kept_in(tmp_path, encoder.key, encoder.dims) is None
    other = World.encode(encoder)
    assert other is not None
    other.keep_in(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2 and (tmp_path / "model.onnx").is_file()


def test_a_folder_that_cannot_be_written_is_no_error(made, encoder, tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "nowhere", tmp_path / "file"):
        made.keep_in(folder)
        assert World.kept_in(folder, encoder.key, encoder.dims) is None


def scanned(folder: Path, model: SimpleNamespace, encoder: WordEncoder) -> list[str]:
    """The steps that the first scan of a new store tells."""
    listed = [("zoo", f"feed_{animal}", f"gives the {animal} its food") for animal in ANIMALS]
    folder.mkdir()
    db, _catalog = filled(folder / "s.db", listed, encoder)
    for tool in tools.tools(db):
        texts = [f"{word} for the {tool.name}" for word in ("breakfast", "lunch", "dinner")]
        editing.add(db, tool, texts, editing.MODEL)
    settings = SimpleNamespace(views=RoutingSettings())
    ctx = SimpleNamespace(
        clock=lambda: 5.0, settings=settings, paths=SimpleNamespace(models=folder.parent)
    )
    steps: list[str] = []
    indexer = Indexer(ctx, db, progress=lambda text, _share: steps.append(text))
    indexer.pending = lambda _model: []
    indexer._loaded = lambda _model: encoder
    assert indexer._catch_up(model, lambda: True) == ""
    assert load_floor(db, encoder.key, encoder.dims).world is not None
    db.close()
    return [step for step in steps if "Preparing search" in step]


def test_the_second_store_of_a_machine_encodes_no_world(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(world, "BATCH", 10)
    exported = tmp_path / "models"
    exported.mkdir()
    model = SimpleNamespace(key=encoder.key, dims=encoder.dims, onnx=exported / "model.onnx")
    assert scanned(tmp_path / "first", model, encoder)
    assert not scanned(tmp_path / "second", model, encoder)
