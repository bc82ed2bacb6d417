# SPDX-License-Identifier: BSD-3-Clause
"""Which algorithm a collective operation of our library should take here, found by measuring."""
