#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What must be there before `make` can do anything: Python >= 3.11 with venv, a C and C++ compiler.
# As root on a machine with apt what is missing is installed, and libsodium, without which the library has no connections
# by TCP; otherwise one line says how to.
set -euo pipefail
python=${PYTHON:-python3}
missing=()
command -v cc >/dev/null && command -v c++ >/dev/null || missing+=(build-essential)
command -v "$python" >/dev/null || missing+=(python3)
wanted=()
# Without a compiler nobody can tell whether it is there.
echo '#include <sodium.h>' | cc -E -I"${CMAKE_PREFIX_PATH:-/usr}/include" -x c - >/dev/null 2>&1 || wanted=(libsodium-dev)
if command -v "$python" >/dev/null; then
    if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        echo "volley needs Python 3.11 or newer; $("$python" --version) is too old: make PYTHON=/path/to/python3.11 …" >&2
        exit 1
    fi
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
fi
[ ${#missing[@]} -eq 0 ] && [ ${#wanted[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]} ${wanted[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq "${missing[@]}" "${wanted[@]}" >/dev/null && exit 0
fi
if [ ${#missing[@]} -eq 0 ]; then
    echo "without ${wanted[*]} (sudo apt-get install ${wanted[*]}) the library is built without connections by TCP"
    exit 0
fi
echo "missing: ${missing[*]}. Install with:  sudo apt-get install ${missing[*]} ${wanted[*]}   (or your system's packages for them)" >&2
exit 1
