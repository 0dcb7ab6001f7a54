"""PySide6 6.12.0 on Python 3.11 drops a reference to None with each call and aborts in the end."""

import sys

from PySide6.QtCore import QObject
from PySide6.QtGui import QStandardItemModel

CALLS = 1000


def test_calls_that_return_none_keep_the_count_of_references():
    obj, model = QObject(), QStandardItemModel(1, 1)
    index = model.index(0, 0)
    before = sys.getrefcount(None)
    for _ in range(CALLS):
        obj.setObjectName("x")
        model.data(index)
    lost = before - sys.getrefcount(None)
    assert abs(lost) < CALLS / 10, f"{lost} references to None lost in {CALLS} calls"
