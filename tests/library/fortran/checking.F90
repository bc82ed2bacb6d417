! SPDX-License-Identifier: BSD-3-Clause
! Counts what is wrong.
module checking
  implicit none
  integer :: failures = 0
contains
  subroutine check(what, holds)
    character(len=*), intent(in) :: what
    logical, intent(in) :: holds
    if (holds) return
    failures = failures + 1
    print '(2a)', 'wrong: ', what
  end subroutine check
end module checking
