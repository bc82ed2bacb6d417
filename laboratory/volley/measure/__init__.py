# SPDX-License-Identifier: BSD-3-Clause
"""Measuring: the design of a study, one launch, what its ranks leave, and the study as a whole."""
