"""Runs first in a packaged program: no package that it carries sends anything home."""

import os

os.environ.update(ORT_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_TELEMETRY="1")
