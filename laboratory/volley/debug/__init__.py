# SPDX-License-Identifier: BSD-3-Clause
"""Looking into a job of Volley's own library that runs."""
