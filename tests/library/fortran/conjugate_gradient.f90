! SPDX-License-Identifier: BSD-3-Clause
! Solves Poisson's equation on a square by conjugate gradients, with the square divided among a grid of ranks: borders
! are exchanged as sections without waiting, sums are reductions. Prints "good" if the solution is the one that the
! right side was made from.
program conjugate_gradient
  use mpi_f08
  implicit none
  integer, parameter :: dp = kind(1d0), points = 96
  real(dp), parameter :: pi = 3.14159265358979323846_dp
  integer :: rank, ranks, dims(2), place(2), first(2), cells(2), i, j, k, iterations
  integer :: low(2), high(2)
  type(MPI_Comm) :: grid
  type(MPI_Request) :: requests(8)
  real(dp), allocatable :: x(:, :), r(:, :), q(:, :), exact(:, :)
  real(dp), allocatable, asynchronous :: p(:, :)
  real(dp) :: h, old, new, alpha, worst
  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  dims = 0
  call MPI_Dims_create(ranks, 2, dims)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 2, place)
  call MPI_Cart_shift(grid, 0, 1, low(1), high(1))
  call MPI_Cart_shift(grid, 1, 1, low(2), high(2))
  cells = points / dims
  first = place * cells
  h = 1.0_dp / (points + 1)
  allocate (x(cells(1), cells(2)), r(cells(1), cells(2)), q(cells(1), cells(2)), exact(cells(1), cells(2)))
  allocate (p(0:cells(1) + 1, 0:cells(2) + 1))
  do j = 1, cells(2)
    do i = 1, cells(1)
      exact(i, j) = sin(pi * (first(1) + i) * h) * sin(3 * pi * (first(2) + j) * h) + (first(1) + i) * h * (1 - (first(1) + i) &
        * h) * (first(2) + j) * h * (1 - (first(2) + j) * h)
    end do
  end do
  p = 0
  p(1:cells(1), 1:cells(2)) = exact
  call exchange_borders
  call multiply
  r = q
  x = 0
  p = 0
  p(1:cells(1), 1:cells(2)) = r
  old = total(sum(r * r))
  iterations = 0
  do while (old > 1.0e-24_dp .and. iterations < 2000)
    call exchange_borders
    call multiply
    alpha = old / total(sum(p(1:cells(1), 1:cells(2)) * q))
    x = x + alpha * p(1:cells(1), 1:cells(2))
    r = r - alpha * q
    new = total(sum(r * r))
    p(1:cells(1), 1:cells(2)) = r + new / old * p(1:cells(1), 1:cells(2))
    old = new
    iterations = iterations + 1
  end do
  worst = maxval(abs(x - exact))
  call MPI_Allreduce(MPI_IN_PLACE, worst, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
  call MPI_Finalize()
  if (rank == 0 .and. worst < 1.0e-10_dp .and. iterations < 2000) print '(a)', 'good'
  if (rank == 0 .and. worst >= 1.0e-10_dp) print *, 'wrong by', worst, 'after', iterations
contains
  subroutine exchange_borders
    integer :: n, m
    n = cells(1)
    m = cells(2)
    call MPI_Irecv(p(0, 1:m), m, MPI_DOUBLE_PRECISION, low(1), 1, grid, requests(1))
    call MPI_Irecv(p(n + 1, 1:m), m, MPI_DOUBLE_PRECISION, high(1), 2, grid, requests(2))
    call MPI_Irecv(p(1:n, 0), n, MPI_DOUBLE_PRECISION, low(2), 3, grid, requests(3))
    call MPI_Irecv(p(1:n, m + 1), n, MPI_DOUBLE_PRECISION, high(2), 4, grid, requests(4))
    call MPI_Isend(p(n, 1:m), m, MPI_DOUBLE_PRECISION, high(1), 1, grid, requests(5))
    call MPI_Isend(p(1, 1:m), m, MPI_DOUBLE_PRECISION, low(1), 2, grid, requests(6))
    call MPI_Isend(p(1:n, m), n, MPI_DOUBLE_PRECISION, high(2), 3, grid, requests(7))
    call MPI_Isend(p(1:n, 1), n, MPI_DOUBLE_PRECISION, low(2), 4, grid, requests(8))
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
  end subroutine exchange_borders

  subroutine multiply
    do k = 1, cells(2)
      q(:, k) = 4 * p(1:cells(1), k) - p(0:cells(1) - 1, k) - p(2:cells(1) + 1, k) - p(1:cells(1), k - 1) - p(1:cells(1), k + 1)
    end do
  end subroutine multiply

  real(dp) function total(part)
    real(dp), intent(in) :: part
    call MPI_Allreduce(part, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
  end function total
end program conjugate_gradient
