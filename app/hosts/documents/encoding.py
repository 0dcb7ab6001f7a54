"""Bytes of a host file as text: BOM, UTF-16 from PowerShell, line ends."""

from dataclasses import dataclass

from app.core.errors import ToolcribError

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text of a file without its BOM."""

    text: str
    bom: bool

    def encode(self, text: str) -> bytes:
        """Bytes again, with the BOM if there was one."""
        return (_BOM if self.bom else b"") + text.encode("utf-8")


def decode(data: bytes) -> Decoded:
    """The file's text; UTF-16 and other encodings are refused."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        hint = "Save it as UTF-8 (PowerShell: Out-File -Encoding utf8) and try again."
        raise ToolcribError("The file is UTF-16.", hint)
    bom = data.startswith(_BOM)
    try:
        return Decoded(data[len(_BOM) if bom else 0 :].decode("utf-8"), bom)
    except UnicodeDecodeError as error:
        raise ToolcribError("The file is not UTF-8 text.", "Save it as UTF-8.") from error
