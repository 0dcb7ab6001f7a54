"""The sections that were opened, to go back to and forward again."""


class NavigationHistory:
    """A list of keys and a place in it."""

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._at = -1

    def visit(self, key: str) -> None:
        """A section was opened; what lay ahead is forgotten."""
        if self._at < 0 or self._keys[self._at] != key:
            self._keys[self._at + 1 :] = [key]
            self._at += 1

    def step(self, step: int) -> str:
        """The section `step` places on, -1 for back; "" where there is none."""
        if not 0 <= self._at + step < len(self._keys):
            return ""
        self._at += step
        return self._keys[self._at]
