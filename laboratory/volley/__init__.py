# SPDX-License-Identifier: BSD-3-Clause
"""Volley's laboratory: measures any MPI, compares what it measured, and shows it."""

from importlib.metadata import version

__version__ = version("volley")
