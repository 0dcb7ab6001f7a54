"""Pictures of every page, made without a display."""

import pytest
from PySide6.QtGui import QImage

from store.connection import transaction
from store.queries import save_labels
from store.records import LabelRecord
from ui.pictures import SIZE, save_pictures
from ui.windows.sections import SECTIONS

FINDER, LOOKS = "find-servers", ("light", "dark")


@pytest.fixture(autouse=True)
def look_of_its_own(qapp):
    """The stylesheet names pictures in the test's own folder, which goes with it."""
    yield
    qapp.setStyleSheet("")


@pytest.mark.slow
@pytest.mark.parametrize(
    "labelled",
    [True, pytest.param(False, marks=pytest.mark.exhaustive)],
    ids=["labels", "no label"],
)
def test_each_page_is_saved_light_and_dark_and_labelled_queries_are_run(
    qapp, fill, ctx, places, tmp_path, labelled
):
    fill()
    keys = [section.key for section in SECTIONS]
    keys.insert(1, FINDER)
    if labelled:
        db = ctx.open_store()
        with transaction(db):
            save_labels(db, [LabelRecord(0, "open an issue", ("github/create_issue",), "typed")])
        db.close()
        keys.insert(keys.index("playground") + 1, "query-set")
    saved = save_pictures(ctx, tmp_path / "pictures", places=places)
    assert [file.name for file in saved] == [f"{k}-{look}.png" for k in keys for look in LOOKS]
    for file in saved:
        image = QImage(str(file))
        assert (image.width(), image.height()) == SIZE or file.stem.startswith(FINDER)
        light = image.pixelColor(500, 60).lightness() > 128
        assert light == file.stem.endswith("light")
