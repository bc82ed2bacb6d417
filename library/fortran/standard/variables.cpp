// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/standard/variables.h"

#define DEFINE_FORTRAN_VARIABLE(type, name) type volley_fortran_##name##_;
FORTRAN_VARIABLES(DEFINE_FORTRAN_VARIABLE)
