# SPDX-License-Identifier: BSD-3-Clause
"""MPICH, from its wheel on PyPI."""

from volley.systems import flavours
from volley.systems.wheel import WheelSystem


class MpichSystem(WheelSystem):
    """MPICH (ch4 device)."""

    family = "mpich"
    summary = "MPICH, any version on PyPI"
    package = "mpich"
    flavour = flavours.MPICH
    transports = flavours.MPICH.transports
    network_transports = flavours.MPICH.network_transports
    default_transports = ("shm",)
