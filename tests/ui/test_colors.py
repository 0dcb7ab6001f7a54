"""Legible by computation: contrast of every pair, difference of the states for all eyes."""

import itertools

import pytest
from PySide6.QtGui import QColor

from ui.look.colors import DARK, LIGHT, Colors, contrast, text_on

# Machado, Oliveira, Fernandes (2009), severity 1.0
DEFICIENCIES = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


@pytest.fixture(params=[LIGHT, DARK], ids=["light", "dark"])
def colors(request) -> Colors:
    return request.param


def test_text_reads_on_every_background(colors: Colors):
    backgrounds = (colors.base, colors.window, colors.alternate, colors.raised, colors.selection)
    for background in backgrounds:
        assert contrast(colors.text, background) >= 4.5
        assert contrast(colors.text2, background) >= 4.5


def test_states_read_on_base_window_tint_and_selection(colors: Colors):
    for tone in (colors.accent, colors.passed, colors.warn, colors.block, colors.neutral):
        for background in (colors.base, colors.window, tone.tint, colors.selection):
            assert contrast(tone.ink, background) >= 4.5
        assert contrast(tone.on_solid, tone.ink) >= 4.5


def test_controls_and_bars_stand_out(colors: Colors):
    assert contrast(colors.border, colors.base) >= 3
    assert contrast(colors.bar, colors.track) >= 3


def test_words_on_servers_and_cells_read(colors: Colors):
    for server in colors.servers:
        assert contrast(text_on(server), server) >= 4.5
        assert contrast(colors.text, colors.cell(server)) >= 4.5


@pytest.mark.parametrize("kind", DEFICIENCIES)
def test_states_differ_for_every_eye(colors: Colors, kind: str):
    tones = (colors.passed, colors.warn, colors.block, colors.accent)
    labs = [_lab(_seen(tone.ink, DEFICIENCIES[kind])) for tone in tones]
    for one, two in itertools.combinations(labs, 2):
        assert sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) ** 0.5 >= 15


def _linear(color: QColor) -> list[float]:
    parts = (color.redF(), color.greenF(), color.blueF())
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def _seen(color: QColor, matrix) -> list[float]:
    rgb = _linear(color)
    return [min(1, max(0, sum(m * c for m, c in zip(row, rgb, strict=True)))) for row in matrix]


def _lab(rgb: list[float]) -> tuple[float, float, float]:
    to_xyz = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.95047, 1.0, 1.08883)
    xyz = [sum(m * c for m, c in zip(row, rgb, strict=True)) for row in to_xyz]
    f = [_cube(c / w) for c, w in zip(xyz, white, strict=True)]
    return (116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2]))


def _cube(t: float) -> float:
    return t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116
