"""Models and delegates whose errors end in the log: PySide ends the process where one raises.

A value in a damaged store may be of any kind. Its cell says that it cannot be shown; the window
goes on.
"""

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from pathlib import Path

from PySide6.QtCore import QSize, Qt

CANNOT = "Cannot be shown"
WHY = "What is stored of this is damaged: run toolcrib doctor --repair. The log says more."
_TEXTS: Mapping[int, str] = {
    Qt.ItemDataRole.DisplayRole: CANNOT,
    Qt.ItemDataRole.AccessibleTextRole: CANNOT,
    Qt.ItemDataRole.ToolTipRole: WHY,
}
_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_HEIGHT = 28
_LONGEST = 63  # bits of a number that Qt can hold


def _text(_index: object = None, role: int = Qt.ItemDataRole.DisplayRole) -> object:
    return _TEXTS.get(role)


_INSTEAD: Mapping[str, Callable[..., object]] = {
    "data": _text,
    "headerData": lambda *_given: None,
    "flags": lambda *_given: _FLAGS,
    "rowCount": lambda *_given: 0,
    "columnCount": lambda *_given: 0,
    "hasChildren": lambda *_given: False,
    "sort": lambda *_given: None,
    "setData": lambda *_given: False,
    "lessThan": lambda *_given: False,
    "filterAcceptsRow": lambda *_given: True,
    "paint": lambda *_given: None,
    "initStyleOption": lambda *_given: None,
    "sizeHint": lambda *_given: QSize(0, _HEIGHT),
}


class Guarded:
    """Base of every model, proxy and delegate, before Qt's own: what Qt calls never raises."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, instead in _INSTEAD.items():
            if name in cls.__dict__:
                setattr(cls, name, _guarded(cls.__dict__[name], instead))


def _guarded(
    method: Callable[..., object], instead: Callable[..., object]
) -> Callable[..., object]:
    @wraps(method)
    def call(self: object, *given: object, **more: object) -> object:
        try:
            answer = method(self, *given, **more)
            if isinstance(answer, int) and answer.bit_length() > _LONGEST:
                raise OverflowError  # which Qt would meet where nothing catches it
            return answer
        except Exception as error:  # noqa: BLE001 - whatever a damaged row holds
            _note(type(self).__name__, method.__name__, _origin(error))
            return instead(*given, **more)

    return call


def _origin(error: Exception) -> str:
    """Kind and place of an error, without its text: that may quote what is stored."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f"{type(error).__name__} at {place}"


@lru_cache(maxsize=500)
def _note(model: str, method: str, origin: str) -> None:
    """Log a failure once: a cell is drawn again and again."""
    logging.getLogger("toolcrib").error("%s.%s: %s", model, method, origin)
