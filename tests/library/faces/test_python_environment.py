# SPDX-License-Identifier: BSD-3-Clause
"""PyPI's mpi4py in the Python environment that Volley is installed in, without mpiexec."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
from mpi4py import MPI
assert MPI.COMM_WORLD.size == 1 and MPI.COMM_WORLD.allreduce(3) == 3
print(MPI.Get_library_version())
"""


@pytest.fixture(scope="module")
def mpi4py(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as pip installs it, without a file of this environment changed."""
    folder = tmp_path_factory.mktemp("mpi4py")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    done = subprocess.run([*pip, "--target", folder, "mpi4py"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"pip cannot install mpi4py: {done.stderr[-200:]}")
    return folder


def test_mpi4py_finds_volley_without_any_setting(mpi4py: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH" and "MPI4PY" not in name}
    program = [sys.executable, "-c", ASK]
    done = subprocess.run(program, env={**kept, "PYTHONPATH": str(mpi4py)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Volley ")
