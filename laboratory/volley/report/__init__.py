# SPDX-License-Identifier: BSD-3-Clause
"""A study as people look at it: one offline HTML page, plots as PNG and SVG, scripts for MATLAB and Octave.

Nothing here computes statistics: curves, quartiles and verdicts come from the analysis and are only drawn.
"""
