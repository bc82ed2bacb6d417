! SPDX-License-Identifier: BSD-3-Clause
! The older bindings: with -DINCLUDED by mpif.h, otherwise by the module mpi. Prints "good" at the end of rank 0.
#ifdef INCLUDED
#define USED
#define HEADER include 'mpif.h'
#else
#define USED use mpi
#define HEADER
#endif

module callbacks
  USED
  implicit none
  HEADER
  integer :: copies = 0, deletions = 0, errors = 0, last_error = 0
  integer :: queries = 0, frees = 0, cancels = 0
  logical :: was_complete = .true.
contains
  subroutine larger(in, inout, len, datatype)
    integer, intent(in) :: len, datatype
    integer, intent(in) :: in(len)
    integer, intent(inout) :: inout(len)
    if (datatype == MPI_INTEGER) inout = max(in, inout)
  end subroutine larger

  subroutine copy(object, keyval, extra_state, in, out, flag, ierror)
    integer, intent(in) :: object, keyval
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, in, out
    logical, intent(out) :: flag
    integer, intent(out) :: ierror
    if (object /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID) copies = copies + 1
    out = in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine remove(object, keyval, value, extra_state, ierror)
    integer, intent(in) :: object, keyval
    integer(kind=MPI_ADDRESS_KIND) :: value, extra_state
    integer, intent(out) :: ierror
    if (object /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID) deletions = deletions + int(value + extra_state)
    ierror = MPI_SUCCESS
  end subroutine remove

  subroutine old_copy(comm, keyval, extra_state, in, out, flag, ierror)
    integer :: comm, keyval, extra_state, in, out, ierror
    logical :: flag
    out = in + extra_state
    flag = comm /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID
    ierror = MPI_SUCCESS
  end subroutine old_copy

  subroutine handle_error(comm, code)
    integer :: comm, code, ierror
    errors = errors + 1
    if (comm == MPI_COMM_NULL) return
    call MPI_Error_class(code, last_error, ierror)
  end subroutine handle_error

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: status(MPI_STATUS_SIZE), ierror
    queries = queries + 1
    status(MPI_SOURCE) = int(extra_state)
    status(MPI_TAG) = 5
    call MPI_Status_set_elements(status, MPI_INTEGER, 3, ierror)
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
    cancels = cancels + int(extra_state)
    was_complete = complete
    ierror = MPI_SUCCESS
  end subroutine cancel
end module callbacks

subroutine messages(rank, ranks)
  USED
  use checking
  implicit none
  HEADER
  integer, intent(in) :: rank, ranks
  integer :: ierror, next, before, i, index, done, requests(4), indices(4), status(MPI_STATUS_SIZE)
  integer :: statuses(MPI_STATUS_SIZE, 4), numbers(4), other(4), count, message, position
  ! The compiler is told that they change while it does not see it.
  asynchronous :: numbers, other
  real :: reals(10), got(10)
  character(len=40) :: text, buffer
  logical :: flag
  next = modulo(rank + 1, ranks)
  before = modulo(rank - 1, ranks)
  reals = [(real(rank * 100 + i), i = 1, 10)]
  got = -1
  call MPI_Sendrecv(reals, 10, MPI_REAL, next, 7, got, 10, MPI_REAL, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
    status, ierror)
  call check('sendrecv', ierror == MPI_SUCCESS .and. all(got == [(real(before * 100 + i), i = 1, 10)]))
  call check('status', status(MPI_SOURCE) == before .and. status(MPI_TAG) == 7)
  call MPI_Get_count(status, MPI_REAL, count, ierror)
  call check('count', count == 10)
#ifndef INCLUDED
  ! A section is copied for a blocking call.
  got = -1
  call MPI_Sendrecv(reals(1:9:2), 5, MPI_REAL, next, 7, got(2:10:2), 5, MPI_REAL, before, 7, MPI_COMM_WORLD, &
    MPI_STATUS_IGNORE, ierror)
  call check('section', all(got(2:10:2) == [(real(before * 100 + i), i = 1, 9, 2)]) .and. all(got(1:9:2) == -1))
  text = 'characters of rank'
  buffer = ''
  call MPI_Sendrecv(text, len(text), MPI_CHARACTER, next, 8, buffer, len(buffer), MPI_CHARACTER, before, 8, &
    MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call check('characters', text == buffer)
#endif
  ! Positions count from 1.
  numbers = -1
  do i = 1, 4
    call MPI_Irecv(numbers(i), 1, MPI_INTEGER, before, i, MPI_COMM_WORLD, requests(i), ierror)
  end do
  call MPI_Testany(4, requests, index, flag, MPI_STATUS_IGNORE, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call check('nothing yet', .not. flag .and. index == MPI_UNDEFINED)
  do i = 1, 4
    other(i) = 10 * rank + i
  end do
  call MPI_Send(other(3), 1, MPI_INTEGER, next, 3, MPI_COMM_WORLD, ierror)
  call MPI_Waitany(4, requests, index, status, ierror)
  call check('waitany', index == 3 .and. status(MPI_TAG) == 3 .and. requests(3) == MPI_REQUEST_NULL)
  call check('waitany data', numbers(3) == 10 * before + 3)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Send(other(2), 1, MPI_INTEGER, next, 2, MPI_COMM_WORLD, ierror)
  call MPI_Waitsome(4, requests, done, indices, statuses, ierror)
  call check('waitsome', done == 1 .and. indices(1) == 2 .and. statuses(MPI_TAG, 1) == 2)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Send(other(1), 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierror)
  call MPI_Send(other(4), 1, MPI_INTEGER, next, 4, MPI_COMM_WORLD, ierror)
  call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
  call check('waitall', all(numbers == [(10 * before + i, i = 1, 4)]) .and. all(requests == MPI_REQUEST_NULL))
  call MPI_Waitany(4, requests, index, status, ierror)
  call check('none left', index == MPI_UNDEFINED)
  ! Matched probes.
  call MPI_Isend(other, 4, MPI_INTEGER, next, 9, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Mprobe(before, 9, MPI_COMM_WORLD, message, status, ierror)
  call MPI_Mrecv(numbers, 4, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call check('matched', message == MPI_MESSAGE_NULL .and. numbers(4) == 10 * before + 4)
  ! Persistent.
  call MPI_Send_init(other, 4, MPI_INTEGER, next, 10, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Recv_init(numbers, 4, MPI_INTEGER, before, 10, MPI_COMM_WORLD, requests(2), ierror)
  numbers = 0
  call MPI_Startall(2, requests, ierror)
  call MPI_Waitall(2, requests, statuses, ierror)
  call check('persistent', numbers(1) == 10 * before + 1 .and. requests(1) /= MPI_REQUEST_NULL)
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)
  ! Packing.
  position = 0
  call MPI_Pack(other, 4, MPI_INTEGER, buffer, 40, position, MPI_COMM_WORLD, ierror)
  call check('pack', position == 16)
  position = 0
  call MPI_Unpack(buffer, 40, position, numbers, 4, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check('unpack', all(numbers == other))
end subroutine messages

subroutine collectives(rank, ranks)
  USED
  use checking
  use callbacks
  implicit none
#ifdef INCLUDED
  external :: MPI_Reduce_local
#endif
  integer, intent(in) :: rank, ranks
  integer :: ierror, op, request, total(2), counts(ranks), offsets(ranks), gathered(2 * ranks), i, pair(2), best(2)
  logical :: commutes
  total = [rank, 1]
  call MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check('in place', all(total == [ranks * (ranks - 1) / 2, ranks]))
  call MPI_Op_create(larger, .true., op, ierror)
  call MPI_Op_commutative(op, commutes, ierror)
  call check('commutes', commutes)
  total = [rank, -rank]
  call MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call check('operation', all(total == [ranks - 1, 0]))
  call MPI_Op_free(op, ierror)
  call check('freed', op == MPI_OP_NULL)
  counts = 2
  offsets = [(2 * (i - 1), i = 1, ranks)]
  pair = [rank, -rank]
  call MPI_Iallgatherv(pair, 2, MPI_INTEGER, gathered, counts, offsets, MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call check('iallgatherv', all(gathered == [((i - 1) / 2 * (3 - 2 * (2 - mod(i, 2))), i = 1, 2 * ranks)]))
  pair = [modulo(rank * 3, ranks), rank]
  call MPI_Allreduce(pair, best, 1, MPI_2INTEGER, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  call check('maxloc', best(1) >= pair(1))
  call MPI_Bcast(pair, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call check('bcast', all(pair == 0))
end subroutine collectives

subroutine objects(rank, ranks)
  USED
  use checking
  implicit none
  HEADER
  integer, intent(in) :: rank, ranks
  integer :: ierror, group, sub, comm, cart, dims(2), length, info, keys, newtype, size, i, neighbours, graph
  integer :: position(2), counted(2), datatypes(1), integers(4), combiner, n(3), peer(2)
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent, addresses(1), first, second, pointer
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=12) :: value
  character(len=MPI_MAX_ERROR_STRING) :: message
  logical :: flag, periods(2), keep(2), reorder
  real :: grid(4, 4)
  call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
  call MPI_Group_incl(group, 1, [rank], sub, ierror)
  call MPI_Group_size(sub, size, ierror)
  call check('group', size == 1)
  call MPI_Group_free(sub, ierror)
  call MPI_Group_free(group, ierror)
  call check('null group', sub == MPI_GROUP_NULL)
  call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), -rank, comm, ierror)
  call MPI_Comm_set_name(comm, '  a name   ', ierror)
  name = repeat('x', len(name))
  call MPI_Comm_get_name(comm, name, length, ierror)
  call check('name', name == '  a name' .and. length == 8)
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
  call check('name of the world', name == 'MPI_COMM_WORLD')
  call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, comm, ierror)
  call check('no communicator', comm == MPI_COMM_NULL)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., cart, ierror)
  call MPI_Cart_get(cart, 2, dims, periods, position, ierror)
  call check('periods', periods(1) .and. .not. periods(2))
  call MPI_Cart_shift(cart, 1, 1, peer(1), peer(2), ierror)
  call check('border', position(2) > 0 .or. peer(1) == MPI_PROC_NULL)
  keep = [.false., .true.]
  call MPI_Cart_sub(cart, keep, sub, ierror)
  call MPI_Comm_size(sub, size, ierror)
  call check('cart_sub', size == dims(2))
  call MPI_Comm_free(sub, ierror)
  call MPI_Comm_free(cart, ierror)
  reorder = .false.
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [rank], MPI_UNWEIGHTED, 1, [rank], MPI_UNWEIGHTED, &
    MPI_INFO_NULL, reorder, graph, ierror)
  call MPI_Dist_graph_neighbors_count(graph, neighbours, i, flag, ierror)
  call check('unweighted', neighbours == 1 .and. i == 1 .and. .not. flag)
  call MPI_Comm_free(graph, ierror)
  ! Info: blanks around keys and values are none of theirs, lengths count no zero.
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, ' key  ', ' some value ', ierror)
  call MPI_Info_get_nkeys(info, keys, ierror)
  call MPI_Info_get_nthkey(info, 0, name, ierror)
  call check('key', keys == 1 .and. name == 'key')
#ifndef OTHER_MPI
  length = 0
  call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
  call check('length', flag .and. length == 10)
  value = ''
  call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
  call check('value', value == 'some value')
  length = 4
  call MPI_Info_get_string(info, 'key', length, value, flag, ierror)
  call check('cut', value == 'some' .and. length == 10)
#endif
  call MPI_Info_get(info, 'key', len(value), value, flag, ierror)
  call check('older', flag .and. value == 'some value')
  call MPI_Info_get(info, 'none', len(value), value, flag, ierror)
  call check('no key', .not. flag)
  call MPI_Info_free(info, ierror)
  call MPI_Error_string(MPI_ERR_TRUNCATE, message, length, ierror)
  call check('error string', index(message, 'MPI_ERR_TRUNCATE') > 0 .or. length > 0)
  ! Datatypes.
  call MPI_Type_vector(4, 1, 4, MPI_REAL, newtype, ierror)
  call MPI_Type_commit(newtype, ierror)
  call MPI_Type_get_extent(newtype, lower, extent, ierror)
  call check('extent', lower == 0 .and. extent == 52)
  call MPI_Type_get_envelope(newtype, n(1), n(2), n(3), combiner, ierror)
  call check('envelope', combiner == MPI_COMBINER_VECTOR .and. all(n == [3, 0, 1]))
  call MPI_Type_get_contents(newtype, 3, 0, 1, integers, addresses, datatypes, ierror)
  call check('contents', all(integers(1:3) == [4, 1, 4]) .and. datatypes(1) == MPI_REAL)
  call MPI_Type_free(newtype, ierror)
  call check('null type', newtype == MPI_DATATYPE_NULL)
  call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_DOUBLE_PRECISION], &
    newtype, ierror)
  call MPI_Type_size(newtype, size, ierror)
  call check('struct', size == 12)
  call MPI_Type_free(newtype, ierror)
  call MPI_Type_create_f90_real(15, MPI_UNDEFINED, newtype, ierror)
  call MPI_Type_size(newtype, size, ierror)
  call check('f90 real', size == 8)
  call MPI_Get_address(grid(1, 1), first, ierror)
  call MPI_Get_address(grid(1, 2), second, ierror)
#if !(defined(OTHER_MPI) && defined(INCLUDED))
  call check('address', MPI_Aint_diff(second, first) == 16 .and. MPI_Aint_add(first, 16_MPI_ADDRESS_KIND) == second)
#endif
#ifndef INCLUDED
  call MPI_Get_address(MPI_BOTTOM, first, ierror)
  call check('bottom', first == 0)
  call MPI_Sizeof(grid(:, 1), size, ierror)
  call check('sizeof', size == 4)
#endif
  call MPI_Alloc_mem(100_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer, ierror)
  call check('memory', pointer /= 0)
  counted = 0
end subroutine objects

subroutine attributes(rank)
  USED
  use checking
  use callbacks
  implicit none
  integer, intent(in) :: rank
  integer :: ierror, keyval, comm, old
  integer(kind=MPI_ADDRESS_KIND) :: value
  logical :: flag
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
  call check('tag_ub', flag .and. value >= 32767)
  call MPI_Comm_create_keyval(copy, remove, keyval, 1000_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_get_attr(MPI_COMM_SELF, keyval, value, flag, ierror)
  call check('no attribute', .not. flag)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 2_MPI_ADDRESS_KIND**40 + rank, ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
  call check('copied', flag .and. value == 2_MPI_ADDRESS_KIND**40 + rank + 1000 .and. copies == 1)
  call MPI_Comm_set_attr(comm, keyval, 5_MPI_ADDRESS_KIND, ierror)
  deletions = 0
  call MPI_Comm_free(comm, ierror)
  call check('deleted', deletions == 1005)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)
  call check('keyval', keyval == MPI_KEYVAL_INVALID)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, -7_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Comm_get_attr(comm, keyval, value, flag, ierror)
  call check('dup_fn', flag .and. value == -7)
  call MPI_Comm_free(comm, ierror)
  call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)
  ! Of the first version of the standard.
  call MPI_Keyval_create(old_copy, MPI_NULL_DELETE_FN, keyval, 3, ierror)
  call MPI_Attr_put(MPI_COMM_SELF, keyval, -20, ierror)
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Attr_get(comm, keyval, old, flag, ierror)
  call check('old attribute', flag .and. old == -17)
  call MPI_Comm_free(comm, ierror)
  call MPI_Attr_delete(MPI_COMM_SELF, keyval, ierror)
  call MPI_Keyval_free(keyval, ierror)
  call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, old, flag, ierror)
  call check('old tag_ub', flag .and. old >= 32767)
end subroutine attributes

subroutine other_callbacks
  USED
  use checking
  use callbacks
  implicit none
  integer :: ierror, handler, comm, request, status(MPI_STATUS_SIZE), count, saved
  call MPI_Comm_dup(MPI_COMM_SELF, comm, ierror)
  call MPI_Comm_create_errhandler(handle_error, handler, ierror)
  call MPI_Comm_set_errhandler(comm, handler, ierror)
  call MPI_Errhandler_free(handler, ierror)
  saved = errors
  call MPI_Send(saved, 1, MPI_INTEGER, 99, 0, comm, ierror)
  call check('errhandler', errors == saved + 1 .and. ierror /= MPI_SUCCESS .and. last_error == MPI_ERR_RANK)
  call MPI_Comm_free(comm, ierror)
  call MPI_Grequest_start(query, release, cancel, 8_MPI_ADDRESS_KIND, request, ierror)
  call MPI_Cancel(request, ierror)
  call check('cancel', cancels == 8 .and. .not. was_complete)
  call MPI_Grequest_complete(request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, count, ierror)
  call check('generalized', queries == 1 .and. frees == 8 .and. status(MPI_SOURCE) == 8 .and. count == 3)
end subroutine other_callbacks

program older
  USED
  use checking
  implicit none
  HEADER
  integer :: ierror, rank, ranks, provided, length, total, version, subversion
  logical :: flag
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: library
  call MPI_Initialized(flag, ierror)
  call check('not initialised', .not. flag)
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  call check('threads', provided >= MPI_THREAD_SINGLE)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Get_version(version, subversion, ierror)
#ifdef OTHER_MPI
  call check('version', version >= MPI_VERSION) ! of the face, which may be newer than the program
#else
  call check('version', version == MPI_VERSION .and. subversion == MPI_SUBVERSION)
#endif
  call MPI_Get_processor_name(name, length, ierror)
  call check('processor', length == len_trim(name) .and. length > 0)
  call MPI_Get_library_version(library, length, ierror)
  call check('library', index(library, 'Volley') == 1)
  call check('time', MPI_Wtime() > 0 .and. MPI_Wtick() > 0 .and. PMPI_Wtime() > 0)
  call check('honest', .not. MPI_SUBARRAYS_SUPPORTED)
  call messages(rank, ranks)
  call collectives(rank, ranks)
  call objects(rank, ranks)
  call attributes(rank)
  call other_callbacks
  call PMPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0 .and. total == 0) print '(a)', 'good'
end program older
