# SPDX-License-Identifier: BSD-3-Clause
"""What was measured: the words of a study, its folder on disk, files of others, and curves with intervals."""
