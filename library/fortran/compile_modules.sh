#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compile_modules.sh COMPILER SOURCES TARGET compiles the modules mpi and mpi_f08 into TARGET/NAME, where NAME says which
# compiler it was: another version may not read what this one writes. Programs need the modules' objects seldom, for
# what compilers add to types; they are in an archive beside the modules.
#
# compile_modules.sh --name COMPILER prints NAME.
set -eu

name() {
    # The compiler may be several words.
    $1 --version 2>/dev/null | head -n 1 | tr -cs 'A-Za-z0-9.+\n' '-' | sed 's/-$//'
}

if [ "$1" = --name ]; then
    name "$2"
    exit 0
fi
compiler=$1
sources=$(cd "$2" && pwd)
mkdir -p "$3"
target=$3/$(name "$compiler")
[ ! -e "$target" ] || exit 0
# Several may compile at once: the first to finish is taken.
work=$(mktemp -d "$3/compiling.XXXXXX")
trap 'rm -rf "$work"' EXIT
options="-O2 -fPIC"
case $(name "$compiler") in
GNU*)
    options="$options -Wno-c-binding-type"
    if [ "$($compiler -dumpversion | cut -d . -f 1)" -lt 12 ]; then
        echo "$compiler: gfortran before 12 has errors in descriptors: take care with sections and mpi_f08" >&2
    fi
    ;;
*flang*) ;;
*)
    echo "$compiler: the descriptors of gfortran and flang are known, those of other compilers are not: mpi_f08 may" \
        "not work with it" >&2
    ;;
esac
(
    cd "$work"
    for module in mpi_f08_types mpi mpi_f08; do
        # shellcheck disable=SC2086
        $compiler $options -c "$sources/$module.f90"
    done
    ar rcs libvolley_fortran_modules.a ./*.o
    rm -f ./*.o
)
chmod 755 "$work"
mv -T "$work" "$target" 2>/dev/null || [ -e "$target" ]
