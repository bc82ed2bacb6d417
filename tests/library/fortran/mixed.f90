! SPDX-License-Identifier: BSD-3-Clause
! All bindings in one program, and in one file; and a callback inside a procedure, whose address is on the stack. Prints
! "good" at the end of rank 0.
subroutine by_header(total)
  implicit none
  include 'mpif.h'
  integer :: total, ierror
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
end subroutine by_header

subroutine by_module(total)
  use mpi
  implicit none
  integer :: total, ierror
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
end subroutine by_module

program mixed
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  integer :: total, calls, rank
  type(MPI_Op) :: op
  total = 1
  calls = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call by_header(total)
  call by_module(total)
  call MPI_Op_create(added, .true., op)
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, calls, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (rank == 0 .and. total == 8 .and. calls > 0) print '(a)', 'good'
contains
  subroutine added(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = in + inout
    calls = calls + 1
  end subroutine added
end program mixed
