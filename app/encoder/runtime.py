"""Loads onnxruntime with its telemetry off; nothing else in the product imports that package.

onnxruntime 1.29 and later writes a device id below ~/.cache/Microsoft and queues events as soon as
it is imported; only the environment, read at that moment, stops it (its own
`disable_telemetry_events` comes too late).
"""

import importlib
import os
from collections.abc import MutableMapping
from typing import Any

from app.system.ending import interrupts_held

NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
NO_NETWORK = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def opt_out(environ: MutableMapping[str, str] = os.environ) -> None:
    """Switch off the telemetry of the encoder's packages, for this process and its children."""
    environ.update(NO_TELEMETRY)


def load_runtime() -> Any:
    """The module onnxruntime, which has no types."""
    opt_out()
    with interrupts_held():
        return importlib.import_module("onnxruntime")
