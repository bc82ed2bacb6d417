# SPDX-License-Identifier: BSD-3-Clause
"""What is odd in measurements: spikes, steps, plateaus, stalls, modes, drifts, freezes, changes.

``read_material`` reads a study's folder or a file, ``detect`` finds, each kind by one module of ``kinds/``.
The statistics are in ``statistics.py`` and ``shape.py``; docs/detecting.md says what they rest on.
"""

from volley.detect.finding import Finding
from volley.detect.material import Material
from volley.detect.read import read_material, read_older
from volley.detect.registry import all_kinds, detect

__all__ = ["Finding", "Material", "all_kinds", "detect", "read_material", "read_older"]
