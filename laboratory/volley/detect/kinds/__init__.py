# SPDX-License-Identifier: BSD-3-Clause
"""One module per kind of finding; each is found by looking, see volley.detect.registry."""
