"""TF-IDF cosines, the paper's lexical ablation."""

import math
from collections import Counter as Tally
from typing import TYPE_CHECKING

from app.ranking.text import content_words, split_name
from tests.bench.data.bed import EmbeddedCatalogue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def tf_idf(bed: EmbeddedCatalogue) -> "NDArray[np.float64]":
    """Cosine of every query and tool over words weighted by rarity."""
    import numpy as np

    texts = [f"{split_name(t.name)} {t.raw.get('description') or ''}" for t in bed.tools]
    documents = [Tally(content_words(text)) for text in texts]
    spread = Tally(word for document in documents for word in document)
    known = {word: place for place, word in enumerate(spread)}
    rarity = np.array([math.log(len(documents) / spread[word]) + 1 for word in known])

    def rows(tallies: list[Tally[str]]) -> "NDArray[np.float64]":
        made = np.zeros((len(tallies), len(known)))
        for row, tally in zip(made, tallies, strict=True):
            for word, count in tally.items():
                if word in known:
                    row[known[word]] = count
        made *= rarity
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        scaled: NDArray[np.float64] = made / np.where(lengths == 0, 1, lengths)
        return scaled

    queries = [Tally(content_words(query.query)) for query in bed.queries]
    cosines: NDArray[np.float64] = rows(queries) @ rows(documents).T
    return cosines
