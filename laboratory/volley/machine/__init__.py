# SPDX-License-Identifier: BSD-3-Clause
"""The machine the laboratory runs on: its processes, its control groups, and what it says of itself."""
