"""Curves of the calibration plot over the threshold as the window shows it, without Qt."""

from dataclasses import dataclass, replace

from app.core.settings import RoutingSettings
from app.ranking.gates import THETA
from app.ranking.learning.calibrate import Calibration, Point, Sweep

Curve = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """Shares from 0 to 1 and tools over thresholds that rise from left to right."""

    thresholds: Curve
    recall: Curve
    recall_low: Curve
    recall_high: Curve
    precision: Curve
    precision_low: Curve
    precision_high: Curve
    tools: Curve

    def nearest(self, threshold: float) -> int:
        """The place of the value nearest to a threshold."""
        places = range(len(self.thresholds))
        return min(places, key=lambda n: abs(self.thresholds[n] - threshold))


def sweep_of(calibration: Calibration, settings: RoutingSettings) -> Sweep | None:
    """The sweep of the cut in use."""
    return calibration.theta if settings.cut == THETA else calibration.delta


def threshold_of(settings: RoutingSettings) -> float:
    """The number that the threshold field shows: theta, or delta below a best score of 1."""
    return settings.theta if settings.cut == THETA else round(1 - settings.delta, 3)


def with_threshold(settings: RoutingSettings, value: float) -> RoutingSettings:
    """The settings whose threshold field shows this number."""
    if settings.cut == THETA:
        return replace(settings, theta=round(value, 3))
    return replace(settings, delta=round(1 - value, 3))


def shown_value(sweep: Sweep, point: Point) -> float:
    """A sweep's value as a threshold."""
    return point.value if sweep.setting == THETA else round(1 - point.value, 3)


def curves(sweep: Sweep) -> Curves:
    """A sweep from the loosest threshold to the strictest."""
    rows = sorted(
        zip(sweep.points, sweep.bands, strict=True), key=lambda row: shown_value(sweep, row[0])
    )
    points, bands = [row[0] for row in rows], [row[1] for row in rows]
    return Curves(
        tuple(shown_value(sweep, point) for point in points),
        tuple(point.recall for point in points),
        tuple(band.recall[0] for band in bands),
        tuple(band.recall[1] for band in bands),
        tuple(point.precision for point in points),
        tuple(band.precision[0] for band in bands),
        tuple(band.precision[1] for band in bands),
        tuple(point.active for point in points),
    )
