import sys

import pytest

from app.safety import version


def test_a_bundle_without_sources_has_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyInstaller keeps modules in an archive: the folder app/safety does not exist there."""
    seen = version.files

    def files(package: str) -> object:
        if package == "app.safety":
            raise FileNotFoundError(package)
        return seen(package)

    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(version, "files", files)
    assert len(version.scanner_version.__wrapped__()) == 16
