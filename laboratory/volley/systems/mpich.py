# SPDX-License-Identifier: BSD-3-Clause
"""MPICH, from its wheel on PyPI."""

from volley.systems.flavours.mpich import Hydra
from volley.systems.wheel import WheelSystem


class MpichSystem(WheelSystem):
    """MPICH (ch4 device)."""

    family = "mpich"
    summary = "MPICH, any version on PyPI"
    package = "mpich"
    flavour = Hydra()
    known_traits = Hydra.traits
    transports = Hydra.transports
    network_transports = Hydra.network_transports
    default_transports = ("shm",)
