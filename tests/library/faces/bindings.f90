! SPDX-License-Identifier: BSD-3-Clause
! The module mpi_f08 of any MPI, also of those that take addresses only: no sections, no large counts. Prints "good" at
! the end of rank 0.
module counting
  use mpi_f08
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0
contains
  subroutine copy(comm, keyval, extra_state, in, out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, in, out
    logical :: flag
    if (comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID) copies = copies + 1
    out = in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine remove(comm, keyval, value, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    if (comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID .and. value + extra_state > 0) deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine remove

  subroutine failed(comm, code)
    type(MPI_Comm) :: comm
    integer :: code, class
    call MPI_Error_class(code, class)
    if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_RANK) errors = errors + 1
  end subroutine failed

  subroutine larger(in, inout, len, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(in, from, [len])
    call c_f_pointer(inout, to, [len])
    if (datatype == MPI_INTEGER) to = max(from, to)
  end subroutine larger
end module counting

program bindings
  use, intrinsic :: iso_c_binding, only: c_ptr, c_associated
  use mpi_f08
  use checking
  use counting
  implicit none
  integer :: rank, ranks, next, last, i, n, length, code, keyval, total, numbers(10), got(10)
  integer(kind=MPI_ADDRESS_KIND) :: value
  integer(kind=MPI_OFFSET_KIND) :: bytes
  integer, asynchronous :: exchanged(2)
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=1000) :: room
  type(c_ptr) :: address
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: vector
  type(MPI_Errhandler) :: handler
  type(MPI_File) :: file
  type(MPI_Group) :: group
  type(MPI_Op) :: op
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  type(MPI_Win) :: window
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  last = mod(rank + ranks - 1, ranks)

  ! Messages and statuses.
  numbers = [(100 * rank + i, i=1, 10)]
  call MPI_Sendrecv(numbers, 7, MPI_INTEGER, next, 3, got, 10, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status)
  call MPI_Get_count(status, MPI_INTEGER, n)
  call check('status', status%MPI_SOURCE == last .and. status%MPI_TAG == 3 .and. n == 7)
  call check('data', got(7) == 100 * last + 7)
  call MPI_Irecv(exchanged(1), 1, MPI_INTEGER, last, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call MPI_F_sync_reg(exchanged)
  call check('exchanged', exchanged(1) == last .and. requests(1) == MPI_REQUEST_NULL)
  call MPI_Recv(got, 1, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, status)
  call check('nobody', status%MPI_SOURCE == MPI_PROC_NULL .and. status%MPI_TAG == MPI_ANY_TAG)
  call MPI_Buffer_attach(room, 1000)
  call MPI_Bsend(rank, 1, MPI_INTEGER, next, 6, MPI_COMM_WORLD)
  call MPI_Recv(n, 1, MPI_INTEGER, last, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Buffer_detach(address, length)
  call check('buffered', n == last .and. length == 1000 .and. c_associated(address))
  call MPI_Type_vector(5, 1, 2, MPI_INTEGER, vector)
  call MPI_Type_commit(vector)
  got = 0
  call MPI_Sendrecv(numbers, 1, vector, rank, 7, got, 5, MPI_INTEGER, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check('vector', all(got(1:5) == numbers(1:9:2)))
  call MPI_Type_free(vector)
  call check('freed', vector == MPI_DATATYPE_NULL)

  ! Collective operations, with one of the program's own.
  total = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check('sum', total == ranks * (ranks + 1) / 2)
  call MPI_Op_create(larger, .true., op)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check('own operation', total == ranks - 1)
  call MPI_Op_free(op)

  ! Communicators, attributes and names.
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_compare(comm, MPI_COMM_WORLD, code)
  call check('congruent', code == MPI_CONGRUENT)
  call MPI_Comm_set_name(comm, 'a name')
  call MPI_Comm_get_name(comm, name, length)
  call check('name', name == 'a name' .and. length == 6)
  call MPI_Comm_create_keyval(copy, remove, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 37_MPI_ADDRESS_KIND)
  call MPI_Comm_free(comm)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 40_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check('copied', flag .and. value == 45 .and. copies == 1)
  call MPI_Comm_free(comm)
  call check('deleted', deletions == 2)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 9_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check('duplicated', flag .and. value == 9)
  call MPI_Comm_free(comm)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  call check('tags', flag .and. value >= 32767)
  call MPI_Comm_group(MPI_COMM_WORLD, group)
  call MPI_Group_size(group, n)
  call check('group', n == ranks .and. group /= MPI_GROUP_EMPTY)
  call MPI_Group_free(group)

  ! Errors.
  call MPI_Comm_create_errhandler(failed, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Send(rank, 1, MPI_INTEGER, ranks, 0, MPI_COMM_WORLD, code)
  call check('handled', errors == 1 .and. code /= MPI_SUCCESS)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call MPI_Errhandler_free(handler)

  ! Windows and files.
  got = rank
  call MPI_Win_create(got, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window)
  call MPI_Win_fence(0, window)
  call MPI_Put(next, 1, MPI_INTEGER, next, 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, window)
  call MPI_Win_fence(MPI_MODE_NOSUCCEED, window)
  call MPI_F_sync_reg(got)
  call check('put', got(3) == rank .and. got(1) == rank)
  call MPI_Win_free(window)
  call MPI_File_open(MPI_COMM_SELF, 'bindings.data', ior(MPI_MODE_CREATE, ior(MPI_MODE_RDWR, MPI_MODE_DELETE_ON_CLOSE)), &
    MPI_INFO_NULL, file, code)
  if (ranks == 1) then
    call MPI_File_write_at(file, 8_MPI_OFFSET_KIND, numbers, 10, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call MPI_File_get_size(file, bytes)
    call check('file', code == MPI_SUCCESS .and. n == 10 .and. bytes == 48)
  end if
  if (code == MPI_SUCCESS) call MPI_File_close(file)
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (rank == 0 .and. total == 0) print '(a)', 'good'
end program bindings
