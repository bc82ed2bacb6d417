# SPDX-License-Identifier: BSD-3-Clause
"""Which system, and which version, is faster: verdicts that launches bear out, and their words."""
