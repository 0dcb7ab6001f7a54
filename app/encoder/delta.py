"""Low-rank factors that Toolcrib adds to the default encoder, merged at export.

Trained by tests/bench/encoder/train.py on requests for tools of real servers; resources/encoder
holds the factors as float16 and a report of the training. Runs in the child process that exports.
"""

import hashlib
from importlib.resources import files
from typing import Any

from app.core.errors import ToolcribError

# of resources/encoder/delta.safetensors: another delta is another encoder, its key says so
DELTA_SHA256 = "94a1ee372c6c85f0948c072360ab1cb0b60564296d688ca6eac753ea9e01365f"


def with_delta(sha256: str) -> str:
    """The digest of the default weights (their own given) together with the delta."""
    return hashlib.sha256(f"{sha256}+{DELTA_SHA256}".encode()).hexdigest()


def read_delta() -> bytes:
    """The factors' file, after a hash check."""
    data = files("resources").joinpath("encoder", "delta.safetensors").read_bytes()
    if hashlib.sha256(data).hexdigest() != DELTA_SHA256:
        raise ToolcribError(
            "The encoder's factors (resources/encoder) are not those Toolcrib was made with.",
            "Install Toolcrib again.",
        )
    return data


def merge_delta(network: Any) -> None:
    """Add up @ down to each weight of a transformers model that the delta names."""
    import torch
    from safetensors.torch import load

    factors = load(read_delta())
    for name in sorted(name.removesuffix(".up") for name in factors if name.endswith(".up")):
        weight = network.get_parameter(name)
        change = factors[f"{name}.up"].float() @ factors[f"{name}.down"].float()
        with torch.no_grad():
            weight.add_(change)
