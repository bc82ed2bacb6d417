#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpirun is another name of mpiexec, for places that can hold no links (Python wheels).
exec "$(dirname "$(readlink -f "$0")")/mpiexec" "$@"
