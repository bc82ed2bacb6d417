! SPDX-License-Identifier: BSD-3-Clause
! The module mpi_f08. Prints "good" at the end of rank 0.
module callbacks
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  integer :: copies = 0, deletions = 0, errors = 0, last_error = 0, queries = 0, frees = 0, cancels = 0
contains
  subroutine larger(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: in(:), inout(:)
    if (datatype /= MPI_INTEGER) return
    call c_f_pointer(invec, in, [len])
    call c_f_pointer(inoutvec, inout, [len])
    inout = max(in, inout)
  end subroutine larger

  subroutine larger_of_many(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    call larger(invec, inoutvec, int(len), datatype)
  end subroutine larger_of_many

  subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    if (oldcomm == MPI_COMM_SELF) copies = copies + 1
    attribute_val_out = attribute_val_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine remove(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    deletions = deletions + int(attribute_val + extra_state)
    ierror = MPI_SUCCESS
  end subroutine remove

  subroutine copy_type(olddatatype, type_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Datatype) :: olddatatype
    integer :: type_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    attribute_val_out = 2 * attribute_val_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy_type

  subroutine handle_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    errors = errors + 1
    call MPI_Error_class(error_code, last_error)
  end subroutine handle_error

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + 1
    status%MPI_SOURCE = int(extra_state)
    status%MPI_TAG = 5
#ifdef OTHER_MPI
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
#else
    call MPI_Status_set_elements(status, MPI_INTEGER, 3_MPI_COUNT_KIND, ierror)
#endif
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine query

  subroutine release(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancels = cancels + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine cancel
end module callbacks

subroutine messages(rank, ranks)
  use mpi_f08
  use checking
  implicit none
  integer, intent(in) :: rank, ranks
  integer :: next, before, i, index, done, indices(4), number, older(MPI_STATUS_SIZE)
  integer(kind=MPI_COUNT_KIND) :: many
  type(MPI_Request) :: requests(4)
  type(MPI_Status) :: status, statuses(4), other_status
  type(MPI_Message) :: message
  integer, asynchronous :: numbers(4), other(4)
  logical :: flag
  character(len=16) :: text, got
  next = modulo(rank + 1, ranks)
  before = modulo(rank - 1, ranks)
  other = [(10 * rank + i, i = 1, 4)]
  do i = 1, 4
    call MPI_Irecv(numbers(i), 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, requests(i))
  end do
  call MPI_Testany(4, requests, index, flag, status)
  call check('nothing yet', .not. flag .and. index == MPI_UNDEFINED)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Send(other(3), 1_MPI_COUNT_KIND, MPI_INTEGER, next, 3, MPI_COMM_WORLD)
  call MPI_Waitany(4, requests, index, status)
  call check('waitany', index == 3 .and. status%MPI_TAG == 3 .and. requests(3) == MPI_REQUEST_NULL)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Send(other(2), 1, MPI_INTEGER, next, 2, MPI_COMM_WORLD)
  call MPI_Waitsome(4, requests, done, indices, statuses)
  call check('waitsome', done == 1 .and. indices(1) == 2 .and. statuses(1)%MPI_SOURCE == before)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Send(other(1), 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD)
  call MPI_Send(other(4), 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD)
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
  call check('waitall', all(numbers == [(10 * before + i, i = 1, 4)]))
  text = 'rank'
  got = 'x'
  call MPI_Sendrecv(text, len(text), MPI_CHARACTER, next, 8, got, len(got), MPI_CHARACTER, before, 8, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE)
  call check('characters', got == text)
  call MPI_Isend(other, 4_MPI_COUNT_KIND, MPI_INTEGER, next, 9, MPI_COMM_WORLD, requests(1))
  call MPI_Mprobe(before, 9, MPI_COMM_WORLD, message, status)
  call MPI_Get_count(status, MPI_INTEGER, number)
  call MPI_Get_count(status, MPI_INTEGER, many)
  call check('counts', number == 4 .and. many == 4)
  call MPI_Mrecv(numbers, 4, MPI_INTEGER, message, MPI_STATUS_IGNORE)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call check('matched', message == MPI_MESSAGE_NULL .and. numbers(4) == 10 * before + 4)
  ! Statuses of the other bindings.
  call MPI_Status_f082f(status, older)
  call check('f082f', older(MPI_SOURCE) == before .and. older(MPI_TAG) == 9)
  call MPI_Status_f2f08(older, other_status)
  call MPI_Get_count(other_status, MPI_INTEGER, number)
  call check('f2f08', other_status%MPI_SOURCE == before .and. number == 4)
  ! The program's memory, by absolute addresses.
  call by_address
contains
  subroutine by_address
    integer(kind=MPI_ADDRESS_KIND) :: place
    type(MPI_Datatype) :: newtype
    integer, target, asynchronous :: from, to
    from = rank
    call MPI_Get_address(from, place)
    call MPI_Type_create_hindexed_block(1, 1, [place], MPI_INTEGER, newtype)
    call MPI_Type_commit(newtype)
    call MPI_Sendrecv(MPI_BOTTOM, 1, newtype, next, 1, to, 1, MPI_INTEGER, before, 1, MPI_COMM_WORLD, status)
    call check('bottom', to == before)
    call MPI_Type_free(newtype)
    call check('null type', newtype == MPI_DATATYPE_NULL)
  end subroutine by_address
end subroutine messages

! Sections that are not contiguous: whatever the call, the data is the section's, and nothing else is touched.
subroutine sections(rank, ranks)
  use mpi_f08
  use checking
  implicit none
  integer, intent(in) :: rank, ranks
  type point
    real :: x
    integer :: colour
  end type point
  integer :: i, j, next, before, position
  integer, asynchronous :: line(20), plane(6, 6), cube(4, 4, 4), got(20), flat(36)
  type(point), asynchronous :: points(5)
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: gaps
  type(MPI_Status) :: status
  logical :: flag
  integer, asynchronous :: sums(2 * ranks), parts(10 * ranks)
  next = modulo(rank + 1, ranks)
  before = modulo(rank - 1, ranks)
  line = [(i, i = 1, 20)]
  plane = reshape([(i, i = 1, 36)], [6, 6])
  cube = reshape([(i, i = 1, 64)], [4, 4, 4])
  ! A row of a matrix becomes every other element, while nobody waits.
  got = -1
  call MPI_Irecv(got(2:12:2), 6, MPI_INTEGER, before, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(plane(3, :), 6, MPI_INTEGER, next, 1, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call check('row', all(got(2:12:2) == [(6 * i + 3, i = 0, 5)]) .and. all(got(1:13:2) == -1) .and. all(got(13:) == -1))
  ! Backwards, with a large count, and a blocking call.
  got = -1
  call MPI_Sendrecv(line(20:2:-2), 10_MPI_COUNT_KIND, MPI_INTEGER, next, 2, got, 20_MPI_COUNT_KIND, MPI_INTEGER, before, &
    2, MPI_COMM_WORLD, status)
  call check('backwards', all(got(:10) == [(22 - 2 * i, i = 1, 10)]) .and. all(got(11:) == -1))
  ! Fewer elements than the section has: the beginning, in the order of elements.
  flat = -1
  call MPI_Irecv(flat, 36, MPI_INTEGER, before, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Send(plane(2:5:3, 1:6:2), 5, MPI_INTEGER, next, 3, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), status)
  call check('part', all(flat(:5) == [2, 5, 14, 17, 26]) .and. all(flat(6:) == -1))
  ! Three dimensions, received into three.
  cube = 0
  call MPI_Irecv(cube(2:3, 1:4:3, :), 16, MPI_INTEGER, before, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Send(line, 16, MPI_INTEGER, next, 4, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call check('cube', all(pack(cube(2:3, 1:4:3, :), .true.) == [(i, i = 1, 16)]) .and. sum(cube) == 136)
  ! A component of a derived type.
  points%x = 0
  points%colour = [(rank * 10 + i, i = 1, 5)]
  call MPI_Irecv(got, 5, MPI_INTEGER, before, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Send(points%colour, 5, MPI_INTEGER, next, 5, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call check('component', all(got(:5) == [(before * 10 + i, i = 1, 5)]))
  ! A datatype with gaps, over a section: elements 1, 2, 5, 6 of it.
  call MPI_Type_vector(2, 2, 4, MPI_INTEGER, gaps)
  call MPI_Type_commit(gaps)
  got = -1
  call MPI_Irecv(got(1:19:3), 1, gaps, before, 6, MPI_COMM_WORLD, requests(1))
  call MPI_Send(line(1:20:3), 1, gaps, next, 6, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call check('gaps', all([got(1), got(4), got(13), got(16)] == [1, 4, 13, 16]) .and. count(got == -1) == 16)
  call MPI_Type_free(gaps)
  ! Part of an element: two of three halves of complex numbers.
  call halves
  ! Collective operations: one piece, and several.
  got = -1
  if (rank == 0) got(1:19:2) = line(:10)
  call MPI_Ibcast(got(1:19:2), 10, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(1))
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call check('bcast', all(got(1:19:2) == line(:10)) .and. all(got(2:20:2) == -1))
  got = -1
  call MPI_Allreduce(line(1:19:2), got(2:20:2), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check('allreduce', all(got(2:20:2) == ranks * line(1:19:2)) .and. all(got(1:19:2) == -1))
  got = -1
  call MPI_Iallreduce(line(1:19:2), got(2:20:2), 10, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE)
  end do
  call check('iallreduce', all(got(2:20:2) == ranks * line(1:19:2)) .and. all(got(1:19:2) == -1))
  parts = -1
  sums = -1
  call MPI_Iallgather(line(5:7:2), 2, MPI_INTEGER, parts(1:10 * ranks:5), 2, MPI_INTEGER, MPI_COMM_WORLD, requests(1))
  call MPI_Iallreduce(MPI_IN_PLACE, sums(1:2 * ranks:2), ranks, MPI_INTEGER, MPI_MIN, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call check('iallgather', all(parts(1:10 * ranks:10) == 5) .and. all(parts(6:10 * ranks:10) == 7))
  call check('untouched', count(parts == -1) == 8 * ranks .and. all(sums == -1))
  ! Persistent: what the section holds when the request starts.
  call MPI_Allreduce_init(line(1:19:2), got(2:20:2), 10, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
  do j = 1, 3
    got = -1
    line = [(i * j + rank, i = 1, 20)]
    call MPI_Start(requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check('persistent', all(got(2:20:2) == [(i * j + ranks - 1, i = 1, 19, 2)]) .and. all(got(1:19:2) == -1))
  end do
  call MPI_Request_free(requests(1))
  ! Packed from one section into another.
  line = [(i, i = 1, 20)]
  flat = 0
  got = -1
  position = 0
  call MPI_Pack(line(2:20:6), 4, MPI_INTEGER, flat(1:36:9), 16, position, MPI_COMM_WORLD)
  call check('packed', position == 16 .and. all(flat(1:36:9) == line(2:20:6)) .and. sum(flat) == sum(line(2:20:6)))
  position = 0
  call MPI_Unpack(flat(1:36:9), 16, position, got(3:9:2), 4, MPI_INTEGER, MPI_COMM_WORLD)
  call check('unpacked', all(got(3:9:2) == line(2:20:6)) .and. count(got == -1) == 16)
  call check('supported', MPI_SUBARRAYS_SUPPORTED .and. MPI_ASYNC_PROTECTS_NONBLOCKING)
contains
  subroutine halves
    complex, asynchronous :: from(6), to(6)
    from = [(cmplx(2 * i - 1, 2 * i), i = 1, 6)]
    to = 0
    call MPI_Irecv(to(1:5:2), 6, MPI_REAL, before, 7, MPI_COMM_WORLD, requests(1))
    call MPI_Send(from(2:6:2), 5, MPI_REAL, next, 7, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check('halves', all(to(1:5:2) == [from(2), from(4), cmplx(11.0, 0.0)]) .and. all(to(2:6:2) == 0))
  end subroutine halves
end subroutine sections

subroutine collectives(rank, ranks)
  use mpi_f08
  use checking
  use callbacks
  implicit none
  integer, intent(in) :: rank, ranks
  type(MPI_Op) :: op
  integer :: total(2), i
  integer :: counts(ranks), from(ranks), to(ranks)
  integer(kind=MPI_COUNT_KIND) :: large(ranks)
  integer(kind=MPI_ADDRESS_KIND) :: offsets(ranks)
  type(MPI_Datatype) :: types(ranks)
  total = [rank, -rank]
  call MPI_Op_create(larger, .true., op)
  call MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check('operation', all(total == [ranks - 1, 0]))
  call MPI_Op_free(op)
  call check('null op', op == MPI_OP_NULL)
#ifndef OTHER_MPI
  total = [rank, -rank]
  call MPI_Op_create_c(larger_of_many, .true., op)
  call MPI_Allreduce(MPI_IN_PLACE, total, 2_MPI_COUNT_KIND, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check('large operation', all(total == [ranks - 1, 0]))
  call MPI_Op_free(op)
#endif
  ! Arrays of datatypes, and of counts of both widths.
  types = MPI_INTEGER
  counts = 1
  from = [(100 * rank + i, i = 0, ranks - 1)]
  call MPI_Alltoallw(from, counts, [(4 * i, i = 0, ranks - 1)], types, to, counts, [(4 * i, i = 0, ranks - 1)], types, &
    MPI_COMM_WORLD)
  call check('alltoallw', all(to == [(100 * i + rank, i = 0, ranks - 1)]))
  large = 1
  offsets = [(int(i, MPI_ADDRESS_KIND), i = 0, ranks - 1)]
  to = -1
  call MPI_Allgatherv(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, to, large, offsets, MPI_INTEGER, MPI_COMM_WORLD)
  call check('allgatherv', all(to == [(i, i = 0, ranks - 1)]))
end subroutine collectives

subroutine objects(rank)
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  use checking
  implicit none
  integer, intent(in) :: rank
  type(MPI_Group) :: group
  type(MPI_Comm) :: comm, null
  type(MPI_Info) :: info
#ifndef OTHER_MPI
  type(MPI_Session) :: session
  character(len=MPI_MAX_PSET_NAME_LEN) :: set
#endif
  type(MPI_Errhandler) :: handler
  type(MPI_Datatype) :: newtype, contained(2)
  integer :: length, size, counts(3), combiner, integers(4), code, sets
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent, addresses(2)
  integer(kind=MPI_COUNT_KIND) :: large_lower, large_extent, large
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=20) :: value
  logical :: flag
  type(c_ptr) :: memory
  integer, pointer :: cells(:)
  real(kind=kind(1d0)) :: number
  complex(kind=kind(1d0)) :: numbers(3)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call check('different', comm /= MPI_COMM_WORLD .and. .not. comm == MPI_COMM_NULL)
  null = MPI_COMM_NULL
  call check('null', null == MPI_COMM_NULL .and. null%MPI_VAL == MPI_COMM_NULL%MPI_VAL)
  call MPI_Comm_set_name(comm, ' mine  ')
  call MPI_Comm_get_name(comm, name, length)
  call check('name', name == ' mine' .and. length == 5)
  call MPI_Comm_group(comm, group)
  call MPI_Group_rank(group, size)
  call check('group', size == rank)
  call MPI_Group_free(group)
  call check('null group', group == MPI_GROUP_NULL)
  call MPI_Comm_free(comm, code)
  call check('freed', comm == MPI_COMM_NULL .and. code == MPI_SUCCESS)
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'key', 'value of it')
  length = len(value)
  call MPI_Info_get_string(info, 'key', length, value, flag)
  call check('info', flag .and. value == 'value of it' .and. length == 11)
  call MPI_Info_free(info)
  call check('null info', info == MPI_INFO_NULL)
#ifndef OTHER_MPI
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets)
  length = 0
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, set)
  call check('length of a set', sets >= 2 .and. length > 0)
  length = len(set)
  call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, set)
  call check('set', len_trim(set) == length .and. index(set, 'mpi://') == 1)
  call MPI_Session_finalize(session)
  call check('null session', session == MPI_SESSION_NULL)
#endif
  call MPI_Comm_get_errhandler(MPI_COMM_SELF, handler)
  call check('errhandler', handler /= MPI_ERRHANDLER_NULL)
  call MPI_Errhandler_free(handler)
  ! Datatypes: of addresses and counts there is one kind, so one form takes both.
  call MPI_Type_vector(2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, 3_MPI_COUNT_KIND, MPI_REAL, newtype)
  call MPI_Type_get_extent(newtype, lower, extent)
  call MPI_Type_get_extent(newtype, large_lower, large_extent)
  call check('extent', extent == 16 .and. large_extent == 16 .and. lower == large_lower)
  call MPI_Type_size(newtype, size)
  call MPI_Type_size(newtype, large)
  call check('size', size == 8 .and. large == 8)
  call MPI_Type_free(newtype)
  call MPI_Type_create_struct(2, [1, 2], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_REAL], newtype)
  call MPI_Type_get_envelope(newtype, counts(1), counts(2), counts(3), combiner)
  call MPI_Type_get_contents(newtype, counts(1), counts(2), counts(3), integers, addresses, contained)
  call check('contents', combiner == MPI_COMBINER_STRUCT .and. addresses(2) == 8 .and. contained(1) == MPI_INTEGER &
    .and. contained(2) == MPI_REAL)
  call MPI_Type_free(newtype)
  call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
  call c_f_pointer(memory, cells, [10])
  cells = rank
  call check('memory', sum(cells) == 10 * rank)
  call MPI_Free_mem(cells)
  call MPI_Sizeof(number, size)
  call check('sizeof', size == 8)
  call MPI_Sizeof(numbers(1:3:2), size)
  call check('sizeof of a section', size == 16)
end subroutine objects

subroutine attributes_and_callbacks(rank)
  use mpi_f08
  use checking
  use callbacks
  implicit none
  integer, intent(in) :: rank
  integer :: keyval, code, count
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: first, second
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
  call check('tag_ub', flag .and. value >= 32767)
  call MPI_Comm_create_keyval(copy, remove, keyval, 1000_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, int(rank, MPI_ADDRESS_KIND))
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check('copied', flag .and. value == rank + 1000 .and. copies == 1)
  call MPI_Comm_free(comm)
  call check('deleted', deletions == rank + 2000)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Type_contiguous(3, MPI_REAL, first)
  call MPI_Type_set_attr(first, keyval, 21_MPI_ADDRESS_KIND)
  call MPI_Type_dup(first, second)
  call MPI_Type_get_attr(second, keyval, value, flag)
  call check('of a type', flag .and. value == 42)
  call MPI_Type_free(first)
  call MPI_Type_free(second)
  call MPI_Type_free_keyval(keyval)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, -5_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_SELF, comm)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check('dup_fn', flag .and. value == -5)
  call MPI_Comm_create_errhandler(handle_error, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, comm, code)
  call check('errhandler', errors == 1 .and. code /= MPI_SUCCESS .and. last_error == MPI_ERR_RANK)
  call MPI_Errhandler_free(handler)
  call MPI_Comm_free(comm)
  call MPI_Grequest_start(query, release, cancel, 8_MPI_ADDRESS_KIND, request)
  call MPI_Cancel(request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  call check('generalized', queries == 1 .and. frees == 8 .and. cancels == 8 .and. status%MPI_SOURCE == 8 .and. count == 3)
end subroutine attributes_and_callbacks

! Handles and attributes of C (meeting.c).
subroutine with_c(rank)
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t
  use mpi_f08
  use checking
  implicit none
  integer, intent(in) :: rank
  interface
    integer(c_int) function half_of(comm) bind(C)
      import :: c_int
      integer(c_int), value :: comm
    end function half_of
    integer(c_intptr_t) function attribute_in_c(comm, keyval) bind(C)
      import :: c_int, c_intptr_t
      integer(c_int), value :: comm, keyval
    end function attribute_in_c
    subroutine set_attribute_in_c(comm, keyval, value) bind(C)
      import :: c_int, c_intptr_t
      integer(c_int), value :: comm, keyval
      integer(c_intptr_t), value :: value
    end subroutine set_attribute_in_c
    integer(c_int) function c_knows_fortran() bind(C)
      import :: c_int
    end function c_knows_fortran
  end interface
  type(MPI_Comm) :: comm
  integer :: keyval, place
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  comm%MPI_VAL = half_of(MPI_COMM_WORLD%MPI_VAL)
  call MPI_Comm_rank(comm, place)
  call check('communicator of C', place == rank / 2)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 12345678901_MPI_ADDRESS_KIND)
  call check('attribute in C', attribute_in_c(comm%MPI_VAL, keyval) == 12345678901_c_intptr_t)
  call set_attribute_in_c(comm%MPI_VAL, keyval, 77_c_intptr_t)
  call MPI_Comm_get_attr(comm, keyval, value, flag)
  call check('attribute of C', flag .and. value == 77)
  call check('what C knows', c_knows_fortran() == 1)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_free(comm)
end subroutine with_c

! One-sided access from and to sections, and a window whose memory the library makes.
subroutine windows(rank, ranks)
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  use checking
  implicit none
  integer, intent(in) :: rank, ranks
  integer, asynchronous :: line(20), got(20), one
  integer, pointer, asynchronous :: cells(:)
  integer(kind=MPI_ADDRESS_KIND) :: bytes
  integer :: next, i
  type(c_ptr) :: memory
  type(MPI_Win) :: win
  logical :: flag
  next = modulo(rank + 1, ranks)
  bytes = 40
  call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, memory, win)
  call c_f_pointer(memory, cells, [10])
  cells = -1
  line = [(100 * rank + i, i = 1, 20)]
  call MPI_Win_fence(0, win)
  call MPI_Put(line(1:19:2), 10, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 10, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call check('put', all(cells == [(100 * modulo(rank - 1, ranks) + i, i = 1, 19, 2)]))
  got = -1
  call MPI_Get(got(20:2:-2), 10, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 10, MPI_INTEGER, win)
  call MPI_Win_fence(0, win)
  call check('get', all(got(20:2:-2) == line(1:19:2)) .and. all(got(1:19:2) == -1))
  call MPI_Accumulate(line(2:20:2), 10, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, 10, MPI_INTEGER, MPI_SUM, win)
  call MPI_Win_fence(0, win)
  call check('accumulate', all(cells == [(2 * (100 * modulo(rank - 1, ranks) + i) + 1, i = 1, 19, 2)]))
  call MPI_Fetch_and_op(rank, one, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, MPI_REPLACE, win)
  call MPI_Win_fence(0, win)
  call check('fetch', one == 2 * (100 * modulo(rank - 1, ranks) + 1) + 1 .and. cells(1) == rank)
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, bytes, flag)
  call check('unit', flag .and. bytes == 4)
  call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, flag)
  call check('size of a window', flag .and. bytes == 40)
  call MPI_Win_get_attr(win, MPI_WIN_BASE, bytes, flag)
  call check('base', flag .and. bytes == loc(cells))
  call MPI_Win_free(win)
  call check('null window', win == MPI_WIN_NULL)
end subroutine windows

! A file, written from a section and read into one.
subroutine files(rank, ranks)
  use mpi_f08
  use checking
  implicit none
  integer, intent(in) :: rank, ranks
  type(MPI_File) :: file
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  type(MPI_Datatype) :: etype, filetype
  integer(kind=MPI_OFFSET_KIND) :: place, bytes
  integer, asynchronous :: line(20), got(20)
  integer :: i, count, code
  character(len=MPI_MAX_DATAREP_STRING) :: representation
  line = [(100 * rank + i, i = 1, 20)]
  call MPI_File_open(MPI_COMM_WORLD, 'written by Fortran   ', MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, &
    MPI_INFO_NULL, file)
  place = 40 * rank
  call MPI_File_write_at_all(file, place, line(1:19:2), 10, MPI_INTEGER, status)
  call MPI_Get_count(status, MPI_INTEGER, count)
  call check('written', count == 10)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_File_get_size(file, bytes)
  call check('bytes', bytes == 40 * ranks)
  got = -1
#ifdef OTHER_MPI
  call MPI_File_iread_at(file, place, got(20:2:-2), 10, MPI_INTEGER, request)
#else
  call MPI_File_iread_at(file, place, got(20:2:-2), 10_MPI_COUNT_KIND, MPI_INTEGER, request)
#endif
  call MPI_Wait(request, status)
  call check('read', all(got(20:2:-2) == line(1:19:2)) .and. all(got(1:19:2) == -1))
  call MPI_File_set_view(file, place, MPI_INTEGER, MPI_INTEGER, 'native  ', MPI_INFO_NULL)
  call MPI_File_get_view(file, bytes, etype, filetype, representation)
  call check('view', bytes == place .and. etype == MPI_INTEGER .and. representation == 'native')
  call MPI_File_close(file, code)
  call check('null file', file == MPI_FILE_NULL .and. code == MPI_SUCCESS)
  call MPI_File_open(MPI_COMM_SELF, 'no such file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
  call check('code', code /= MPI_SUCCESS)
end subroutine files

program f08
  use mpi_f08
  use checking
  implicit none
  integer :: rank, ranks, total, provided
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call PMPI_Comm_size(MPI_COMM_WORLD, ranks)
  call messages(rank, ranks)
  call sections(rank, ranks)
  call windows(rank, ranks)
  call files(rank, ranks)
  call collectives(rank, ranks)
  call objects(rank)
  call attributes_and_callbacks(rank)
  call with_c(rank)
  call PMPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (rank == 0 .and. total == 0) print '(a)', 'good'
end program f08
