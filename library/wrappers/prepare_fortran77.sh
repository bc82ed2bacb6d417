# What mpif77 does as well: procedures that mpif.h says nothing of are called with arguments of several types, as old
# programs do, which gfortran 10 and later take for mistakes.
case ${name:-} in
GNU*) [ "$($compiler -dumpversion | cut -d . -f 1)" -lt 10 ] || set -- -fallow-argument-mismatch "$@" ;;
esac
