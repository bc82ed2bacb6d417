# SPDX-License-Identifier: BSD-3-Clause
import pytest
from volley.machine.environment import clean_environment


@pytest.mark.parametrize(
    "name",
    [
        "OMPI_MCA_btl", "PMI_RANK", "PMIX_NAMESPACE", "I_MPI_FABRICS", "SLURM_JOB_ID", "MPIR_CVAR_NOLOCAL",
        "UCX_TLS", "FI_PROVIDER", "PBS_NODEFILE", "LAM_MPI_SESSION_SUFFIX", "LD_LIBRARY_PATH", "LD_PRELOAD",
    ],
)  # fmt: skip
def test_what_would_steer_an_mpi_is_removed(name: str) -> None:
    assert clean_environment(caller={name: "1", "PATH": "/bin"}) == {"PATH": "/bin"}


def test_what_has_nothing_to_do_with_mpi_stays() -> None:
    caller = {"PATH": "/bin", "HOME": "/root", "TMPDIR": "/tmp", "OMP_NUM_THREADS": "2", "FILES": "x"}
    assert clean_environment(caller=caller) == caller


def test_the_loader_s_variables_stay_on_request() -> None:
    assert clean_environment(caller={"LD_LIBRARY_PATH": "/x"}, keep_loader=True) == {"LD_LIBRARY_PATH": "/x"}


def test_own_variables_win_over_the_caller_s() -> None:
    assert clean_environment({"UCX_TLS": "tcp"}, caller={"UCX_TLS": "sm"}) == {"UCX_TLS": "tcp"}
