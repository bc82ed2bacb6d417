# SPDX-License-Identifier: BSD-3-Clause
"""Can the laboratory be believed? Invented curves, planted causes, and whether findings appear again."""
