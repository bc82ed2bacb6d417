# SPDX-License-Identifier: BSD-3-Clause
"""Settings as an MPI itself reports them from inside a run: MPI_T control variables (MPI 3.0, section 14.3)."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from volley.errors import VolleyError
from volley.machine import processes
from volley.machine.processes import Command
from volley.systems import knobs
from volley.systems.base import System

SOURCE = Path(__file__).with_suffix(".c")
COMPILE_LIMIT_SECONDS = 60.0
LINE = re.compile(r"^(?P<name>\w+)=(?P<value>.*)$", re.MULTILINE)


def read(system: System) -> dict[str, str]:
    """Those that shape a curve, of one rank under the system's settings; with ``error`` if it cannot be asked.

    For any MPI whose own tool is not known or not there; MPIs that are known report more by their tools, also of
    components that a single rank does not load.
    """
    with tempfile.TemporaryDirectory(prefix="volley-mpi-t-") as folder:
        program = Path(folder) / "control_variables"
        compiler = system.compiler()
        argv = (compiler[0], "-O1", "-o", str(program), str(SOURCE), *compiler[1:])
        try:
            outcome = processes.run(Command(argv), COMPILE_LIMIT_SECONDS)
        except VolleyError as problem:
            return {"error": problem.problem}
        if not outcome.fine:
            return {"error": f"the program that reads control variables does not compile: {outcome.last_words(200)}"}
        command = system.launch(program, (), 1)
        return knobs.collect(command.argv, command.environment, LINE)
