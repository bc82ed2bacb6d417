# SPDX-License-Identifier: BSD-3-Clause
"""A study as people look at it: one offline HTML page, plots as PNG and SVG, scripts for MATLAB and Octave.

Nothing here computes statistics: curves, quartiles and verdicts come from the analysis and are only drawn.
"""

from volley.report.network import write_pairs
from volley.report.octave import write_octave
from volley.report.page import write_report
from volley.report.plots import write_plots
from volley.report.verdicts import rows, write_pictures
from volley.results import LaunchBox, Stream

__all__ = [
    "LaunchBox",
    "Stream",
    "rows",
    "write_octave",
    "write_pairs",
    "write_pictures",
    "write_plots",
    "write_report",
]
