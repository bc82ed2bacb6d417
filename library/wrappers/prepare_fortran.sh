# What mpifort does before it compiles: it finds the modules for this compiler, or compiles them.
if ! command -v "${compiler%% *}" >/dev/null; then
    echo "@WRAPPER_NAME@: there is no Fortran compiler '${compiler%% *}'. Install one (apt-get install gfortran), or name one" \
        "with -fc=COMPILER or the environment variable @WRAPPER_VARIABLE@." >&2
    exit 1
fi
modules=
if [ -n "$show$inputs" ]; then
    for argument; do
        case $argument in
        -fdefault-integer-8 | -i8)
            echo "@WRAPPER_NAME@: warning: MPI's INTEGER has 4 bytes; with $argument the program's has 8" >&2
            ;;
        esac
    done
    fortran=$library/volley/fortran
    name=$(sh "$fortran/compile_modules.sh" --name "$compiler")
    modules=$fortran/$name
    if [ ! -d "$modules" ]; then
        # Modules of another version of this library have other sources.
        version=$(cat "$fortran"/*.f90 | cksum | tr ' ' -)
        cache=${VOLLEY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/volley}/fortran/$version
        modules=$cache/$name
        if [ ! -d "$modules" ]; then
            [ -n "$show" ] || echo "@WRAPPER_NAME@: compiling the modules mpi and mpi_f08 for $name, once, into $cache" >&2
            sh "$fortran/compile_modules.sh" "$compiler" "$fortran" "$cache" || exit 1
        fi
    fi
fi
