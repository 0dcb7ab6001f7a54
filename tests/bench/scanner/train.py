"""`bench scanner --train`: fit the sentence classifier and write resources/scanner.

The same data and seed give the same weights. Three models are fitted, of all features, of words
alone and of characters alone, and added up: what one of them mistakes the others seldom do.
Thresholds come from what was left out: each fold's tools are scored by a model that saw no tool of
their server, its wordings by one that saw nothing of their writer (English) or of their idea.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.safety.classifier import Classifier, Limits, says_enough
from app.safety.concepts import concepts_text
from app.safety.features import ALL_KINDS, CHARACTERS, SIZE, WORDS, Features, features
from app.safety.judgement import ALONE, is_about_more
from store.records import ToolRecord
from store.typed import Json
from tests.bench.scanner.corpus import corpus_sentences, real_tools, tool_sentences
from tests.bench.scanner.split import LAST, fold_of, sentence_is_checked
from tests.bench.scanner.wordings import Wording, wordings

SEED = 17
NO_LIMITS = Limits(0.0, 0.0)
_HONEST = Path(__file__).parents[1] / "inputs" / "honest_sentences.txt"
_UNSAID = -9.0  # score of what is too short to be judged
_EPOCHS, _BATCH, _RATE, _DECAY = 40, 256, 1.0, 1e-5
_LEFT_OUT = 0.65  # share of a sentence's features at each step
_SETTLED = _EPOCHS // 2  # the weights of later epochs are averaged
_ORDER_WEIGHT = 2.0  # orders are fewer than honest sentences
_STEP = 0.05  # thresholds are multiples of it; .25 more takes five of a hundred orders
_MARGIN = 0.5  # above the worst left-out tool, for servers that word things as none of them does
_FOLDS = 4
# features of each model, how much stronger they are in it, and its share of the sum
_MODELS = ((ALL_KINDS, 1.0, 0.5), ((WORDS,), 2.0, 0.5), ((CHARACTERS,), 2.0, 0.25))
_WARNED = 1 / 300  # of left-out servers' tools; none of them is to be held
_MISTAKEN = 1 / 50  # of left-out honest wordings that may stand above the limit for holding


@dataclass(frozen=True, slots=True)
class Labelled:
    """Sentences with 1 for an order and 0 for none."""

    texts: list[str]
    labels: NDArray[np.float32]


def train(data: Path, folder: Path) -> Json:
    """Fit, choose thresholds, write weights.bin and report.json into `folder`; the report."""
    material, checked = _material(data)
    weights, bias = fit(material)
    scale = float(np.abs(weights).max()) / 127
    small = np.rint(weights / scale).astype(np.int8)
    packed = zlib.compress(small.tobytes(), 9)
    limits, judged, scores = _left_out(data)
    model = Classifier(small.astype(np.float32) * scale, bias, limits)
    report = {
        "sha256": hashlib.sha256(packed).hexdigest(),
        "concepts": hashlib.sha256(concepts_text().encode()).hexdigest(),
        "seed": SEED,
        "scale": scale,
        "bias": bias,
        "limits": asdict(limits),
        "sentences": len(material.texts),
        "orders": int(material.labels.sum()),
        "weights": int(np.count_nonzero(small)),
        "checked": _shares(limits, checked, model.scores(checked.texts)),
        "wordings left out": _shares(limits, judged, scores),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.bin").write_bytes(packed)
    (folder / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return report


def fit(material: Labelled) -> tuple[NDArray[np.float32], float]:
    """Weights of every feature and a bias: the sum of models of some kinds of features each."""
    weights, bias = np.zeros(SIZE, dtype=np.float32), 0.0
    for kinds, strength, share in _MODELS:
        rows = features(material.texts, kinds)
        stronger = Features(rows.numbers, rows.values * np.float32(strength), rows.starts)
        own, own_bias = _fit(stronger, material.labels)
        weights += own * np.float32(strength * share)
        bias += own_bias * share
    return weights, bias


def _fit(rows: Features, every_label: NDArray[np.float32]) -> tuple[NDArray[np.float32], float]:
    """Logistic regression by AdaGrad over seeded batches."""
    rng = np.random.default_rng(SEED)
    used, numbers = np.unique(rows.numbers, return_inverse=True)
    rows = Features(numbers.astype(np.uint32), rows.values, rows.starts)
    ends = np.append(rows.starts[1:], len(numbers))
    weights = np.zeros(len(used), dtype=np.float32)
    squares = np.full(len(used), 1e-3, dtype=np.float32)
    bias, bias_squares = 0.0, 1e-3
    sums, bias_sum = np.zeros(len(used), dtype=np.float64), 0.0
    for epoch in range(_EPOCHS):
        order = rng.permutation(len(every_label))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            part = _thinned(_slice(rows, ends, batch), rng)
            z = np.add.reduceat(weights[part.numbers] * part.values, part.starts) + bias
            labels = every_label[batch]
            error = (1 / (1 + np.exp(-z)) - labels) * (1 + (_ORDER_WEIGHT - 1) * labels)
            lengths = np.diff(np.append(part.starts, len(part.numbers)))
            pulls = np.repeat(error, lengths) * part.values
            gradient = np.bincount(part.numbers, weights=pulls, minlength=len(used)) / len(batch)
            gradient = gradient.astype(np.float32) + _DECAY * weights
            squares += gradient * gradient
            rate = _RATE * (1 - 0.8 * epoch / _EPOCHS)
            weights -= rate * gradient / np.sqrt(squares)
            step = float(error.mean())
            bias_squares += step * step
            bias -= rate * step / bias_squares**0.5
        if epoch >= _SETTLED:
            sums += weights
            bias_sum += bias
    settled = _EPOCHS - _SETTLED
    every_weight = np.zeros(SIZE, dtype=np.float32)
    every_weight[used] = sums / settled
    return every_weight, bias_sum / settled


def _slice(rows: Features, ends: NDArray[np.int64], batch: NDArray[np.int64]) -> Features:
    lengths = ends[batch] - rows.starts[batch]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    places = np.arange(lengths.sum()) + np.repeat(rows.starts[batch] - starts, lengths)
    return Features(rows.numbers[places], rows.values[places], starts)


def _thinned(rows: Features, rng: np.random.Generator) -> Features:
    """The features with some of them left out, so that none is relied on alone."""
    kept = rng.random(len(rows.values)) >= _LEFT_OUT
    return Features(
        rows.numbers, (rows.values * kept / (1 - _LEFT_OUT)).astype(np.float32), rows.starts
    )


def _material(data: Path, left_out: int = -1) -> tuple[Labelled, Labelled]:
    """What is trained on, and the part of the corpus that is kept to check.

    `left_out` is the fold of servers and of wordings that are not trained on, -1 for none.
    """
    corpus = {s.text: s.is_order for s in corpus_sentences(data)}
    texts = {t: label for t, label in corpus.items() if not sentence_is_checked(t)}
    checked = {t: label for t, label in corpus.items() if sentence_is_checked(t)}
    own = _HONEST.read_text(encoding="utf-8")
    texts |= dict.fromkeys(own.splitlines(), False)
    texts |= {w.text: w.is_order for w in wordings() if _fold(w) != left_out}
    known = [t.tool for t in real_tools(data) if t.part != LAST]
    for sentence in tool_sentences(t for t in known if fold_of(t.server, _FOLDS) != left_out):
        texts.setdefault(sentence, False)
    return _labelled(texts), _labelled(checked)


def _labelled(texts: dict[str, bool]) -> Labelled:
    return Labelled(list(texts), np.array(list(texts.values()), dtype=np.float32))


def _left_out(data: Path) -> tuple[Limits, Labelled, list[float]]:
    """Limits that hold none of the left-out servers' tools, and what left-out wordings score.

    One in three hundred of those tools is warned of, one in fifty honest wordings may be held.
    """
    known = [t.tool for t in real_tools(data) if t.part != LAST]
    worst: list[float] = []
    own: dict[str, float] = {}
    for fold in range(_FOLDS):
        model = Classifier(*fit(_material(data, fold)[0]), NO_LIMITS)
        for texts in (_texts(t) for t in known if fold_of(t.server, _FOLDS) == fold):
            worst.append(max(_counted(texts, model.scores(texts)), default=_UNSAID))
        texts = [w.text for w in wordings() if _fold(w) == fold]
        own |= dict(zip(texts, model.scores(texts), strict=True))
    worst.sort(reverse=True)
    judged = _labelled({w.text: w.is_order for w in wordings()})
    scores = [own[t] if says_enough(t) else _UNSAID for t in judged.texts]
    honest = sorted(np.array(scores)[judged.labels == 0], reverse=True)
    mistaken = _above(float(honest[int(_MISTAKEN * len(honest))]))
    hold = max(_above(worst[0]) + _MARGIN, mistaken)
    return Limits(warn=_above(worst[int(_WARNED * len(worst))]), hold=hold), judged, scores


def _counted(texts: Sequence[str], scores: Sequence[float]) -> Iterator[float]:
    """Scores of the sentences that are reported for them: the others say too little."""
    for text, score in zip(texts, scores, strict=True):
        if score >= ALONE or is_about_more(text):
            yield score


def _fold(wording: Wording) -> int:
    """With which servers it is left out: all of a writer's English, an idea in other languages."""
    return wording.writer % _FOLDS if wording.language == "en" else fold_of(wording.group, _FOLDS)


def _texts(tool: ToolRecord) -> list[str]:
    """Its sentences that are judged by their score."""
    return [sentence for sentence in tool_sentences([tool]) if says_enough(sentence)]


def _above(score: float) -> float:
    """The first step above a score."""
    return round((float(np.floor(score / _STEP)) + 1) * _STEP, 2)


def _shares(limits: Limits, judged: Labelled, scores: Sequence[float]) -> dict[str, float]:
    """How many orders and other sentences are held, and warned of or held."""
    enough = np.array([says_enough(text) for text in judged.texts])
    held = enough & (np.array(scores) >= limits.hold)
    warned = enough & (np.array(scores) >= limits.warn)
    orders = judged.labels == 1
    shares = {
        "orders held %": held[orders],
        "orders warned or held %": (held | warned)[orders],
        "others held %": held[~orders],
        "others warned or held %": (held | warned)[~orders],
    }
    return {name: round(100 * float(chosen.mean()), 1) for name, chosen in shares.items()}
