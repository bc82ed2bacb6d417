# SPDX-License-Identifier: BSD-3-Clause
"""Causes planted on purpose: one module per plant. `volley selftest` measures whether they are found and named."""
