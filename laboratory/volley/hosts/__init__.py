# SPDX-License-Identifier: BSD-3-Clause
"""Where launches run: this machine, machines reached by ssh, a Slurm allocation, or an emulated cluster."""
