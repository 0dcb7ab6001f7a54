"""Likeness of a sentence to an order to the model: a linear model of hashed features."""

import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from app.ranking.text import STOP_WORDS
from app.safety.concepts import concepts_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FOLDER, _WEIGHTS, _REPORT = "scanner", "weights.bin", "report.json"
_WORD = re.compile(r"\w+")
# words of grammar; a query may mean something by the latter ones
_MORE = (
    "after again although always among another anything because before between both during each"
    " either else even ever every everything few however less many may might more most much must"
    " neither never none nothing only otherwise rather shall since something still though"
    " thus together toward towards unless upon via whatever whenever whether whose within without"
    " yet"
)
_FUNCTION_WORDS = STOP_WORDS.union(_MORE.split())
_BATCH = 256  # sentences scored at once
_HEAVIEST = 3  # words that are named
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """Log-odds from which a sentence is warned of or held."""

    warn: float
    hold: float


def says_enough(sentence: str) -> bool:
    """True if a sentence is long enough to be judged by its score; fragments score oddly."""
    # a dash or a quote is no other script: only letters tell that words are not set apart by blanks
    other_script = any(char > "\x7f" and char.isalpha() for char in sentence)
    return other_script or len(_LETTERS.findall(sentence)) >= _FEWEST_WORDS


@dataclass(frozen=True, slots=True)
class Classifier:
    """Weights, and limits of what they add up to."""

    weights: "NDArray[np.float32] | NDArray[np.int8]"
    bias: float
    limits: Limits
    scale: float = 1.0  # of the weights

    def holds(self, sentence: str, score: float) -> bool:
        """True if a sentence of this score is reason enough to hold a tool."""
        return score >= self.limits.hold and says_enough(sentence)

    def warns(self, sentence: str, score: float) -> bool:
        """True if a sentence of this score is worth a warning."""
        return score >= self.limits.warn and says_enough(sentence)

    def scores(self, sentences: Sequence[str]) -> list[float]:
        """The log-odds of each sentence."""
        scores: list[float] = []
        for start in range(0, len(sentences), _BATCH):
            scores += self._scores(sentences[start : start + _BATCH])
        return scores

    def _scores(self, sentences: Sequence[str]) -> list[float]:
        import numpy as np  # a third of the start of verbs that score nothing

        from app.safety.features import features

        rows = features(sentences)
        parts = self.weights[rows.numbers] * rows.values
        sums = np.add.reduceat(parts, rows.starts)
        return [self.scale * float(z) + self.bias for z in sums]

    def heaviest_words(self, sentence: str) -> list[str]:
        """The few words without which the score falls most, in the sentence's order.

        Articles, pronouns and their like are none: alone they say nothing. One that does not lower
        the score is none either.
        """
        every = list(dict.fromkeys(_WORD.findall(sentence)))[:40]
        words = [word for word in every if word.casefold() not in _FUNCTION_WORDS]
        if len(words) < 2:
            return words
        without = [re.sub(rf"\b{re.escape(word)}\b", " ", sentence) for word in words]
        left, whole = self.scores(without), self.scores([sentence])[0]
        falls = [index for index in range(len(words)) if left[index] < whole]
        return [words[index] for index in sorted(sorted(falls, key=left.__getitem__)[:_HEAVIEST])]


@cache
def classifier() -> Classifier:
    """The trained model of resources/scanner.

    Raises ValueError if the weights are not those that the training report names.
    """
    import numpy as np

    from app.safety.features import SIZE

    folder = files("resources") / _FOLDER
    packed = (folder / _WEIGHTS).read_bytes()
    report = json.loads((folder / _REPORT).read_text(encoding="utf-8"))
    if hashlib.sha256(packed).hexdigest() != report["sha256"]:
        raise ValueError("resources/scanner/weights.bin does not match its report")
    if hashlib.sha256(concepts_text().encode()).hexdigest() != report["concepts"]:
        raise ValueError("resources/scanner/concepts.txt is not what the weights were trained with")
    small = np.frombuffer(zlib.decompress(packed), dtype=np.int8)
    if len(small) != SIZE:
        raise ValueError("resources/scanner/weights.bin has another size")
    return Classifier(small, report["bias"], Limits(**report["limits"]), report["scale"])
