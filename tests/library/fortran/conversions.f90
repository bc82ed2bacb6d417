! SPDX-License-Identifier: BSD-3-Clause
! Hands handles and statuses to C (conversions.c), which knows them by the names of MPI 5.0, section 19.3. Prints "good"
! at the end of rank 0.
module side_of_c
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function world_as_integer() bind(C)
      import :: c_int
    end function world_as_integer
    integer(c_int) function ranks_of(comm) bind(C)
      import :: c_int
      integer(c_int), value :: comm
    end function ranks_of
    integer(c_int) function elements_of(status, datatype) bind(C)
      use mpi_f08, only: MPI_Status
      import :: c_int
      type(MPI_Status) :: status
      integer(c_int), value :: datatype
    end function elements_of
    integer(c_int) function elements_of_array(status, datatype) bind(C)
      import :: c_int
      integer(c_int) :: status(*)
      integer(c_int), value :: datatype
    end function elements_of_array
    integer(c_int) function is_ignored(status) bind(C)
      use mpi_f08, only: MPI_Status
      import :: c_int
      type(MPI_Status) :: status
    end function is_ignored
    integer(c_int) function are_ignored(statuses) bind(C)
      import :: c_int
      integer(c_int) :: statuses(*)
    end function are_ignored
  end interface
end module side_of_c

subroutine by_arrays(rank)
  use mpi
  use checking
  use side_of_c, only: are_ignored, elements_of_array
  implicit none
  integer, intent(in) :: rank
  integer :: requests(2), statuses(MPI_STATUS_SIZE, 2), sent(5), got(5), ierror
  sent = rank
  call MPI_Irecv(got, 5, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(sent, 5, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, requests(2), ierror)
  ! One column of an array of statuses, and the requests from the second on.
  call MPI_Wait(requests(1), statuses(1, 2), ierror)
  call MPI_Waitall(1, requests(2), statuses, ierror)
  call check('array of integers', elements_of_array(statuses(1, 2), MPI_INTEGER) == 5)
  call check('ignored statuses', are_ignored(MPI_STATUSES_IGNORE) == 1 .and. are_ignored(statuses(1, 1)) == 0)
  call check('last code', MPI_ERR_LASTCODE > MPI_ERR_ABI)
end subroutine by_arrays

program conversions
  use mpi_f08
  use checking
  use side_of_c
  implicit none
  integer :: rank, ranks, sent(3), got(4)
  type(MPI_Status) :: status
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  sent = rank
  call MPI_Sendrecv(sent, 3, MPI_INTEGER, rank, 8, got, 4, MPI_INTEGER, rank, 8, MPI_COMM_WORLD, status)
  call check('handle of C', world_as_integer() == MPI_COMM_WORLD%MPI_VAL)
  call check('handle of Fortran', ranks_of(MPI_COMM_WORLD%MPI_VAL) == ranks)
  call check('status', elements_of(status, MPI_INTEGER%MPI_VAL) == 3)
  call check('ignored status', is_ignored(MPI_STATUS_IGNORE) == 1 .and. is_ignored(status) == 0)
  call by_arrays(rank)
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (rank == 0 .and. failures == 0) print '(a)', 'good'
end program conversions
