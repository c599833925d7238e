"""Figures of the schemes, for a page, a lecture or a notebook. Needs matplotlib: ``pip install 'ordinate[plots]'``.

Every function gives a ``matplotlib.figure.Figure`` made without pyplot; ``save`` writes it to a file.
"""

from __future__ import annotations

from ordinate.plots.bias_panels import bias as bias
from ordinate.plots.canvas import save as save
from ordinate.plots.clock_hands import clock_hands as clock_hands
from ordinate.plots.precision import precision as precision
from ordinate.plots.score_curves import scores_by_distance as scores_by_distance
from ordinate.plots.table_image import heatmap as heatmap
from ordinate.plots.wave_lines import waves as waves
from ordinate.plots.wavelengths import wavelengths as wavelengths

__all__ = ["bias", "clock_hands", "heatmap", "precision", "save", "scores_by_distance", "wavelengths", "waves"]
