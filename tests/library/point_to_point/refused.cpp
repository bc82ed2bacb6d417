// SPDX-License-Identifier: BSD-3-Clause
// Messages between processes arrive where the kernel does not let one read or write the other's memory, as in many
// containers: from the beginning, or from some message on. Arguments: what is refused (read, write, both), to which
// rank (or all), after how many messages.
#include "../check.h"

#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>

namespace {

/// From now on this process's calls of `number` end with EPERM.
void refuse(unsigned number) {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter = {.len = 4, .filter = program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
}

void send_one(int number, std::size_t bytes) {
    const std::vector<unsigned char> data = message(world_rank, number, bytes);
    MPI_Send(data.data(), static_cast<int>(bytes), MPI_BYTE, 1 - world_rank, 1, MPI_COMM_WORLD);
}

void receive_one(int number, std::size_t bytes) {
    std::vector<unsigned char> got(bytes);
    MPI_Recv(got.data(), static_cast<int>(bytes), MPI_BYTE, 1 - world_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == message(1 - world_rank, number, bytes));
}

} // namespace

int main(int argc, char **argv) {
    const Mpi mpi(&argc, &argv);
    const std::string what = argv[1], whom = argv[2];
    const int after = std::atoi(argv[3]);
    int number = 0;
    for (int round = 0; round < 8; round++) {
        for (std::size_t bytes : {20'000, 32'768, 100'000, 1'000'000, 3'000'001}) {
            if (number == after && (whom == "all" || std::stoi(whom) == world_rank)) {
                if (what != "write") refuse(SYS_process_vm_readv);
                if (what != "read") refuse(SYS_process_vm_writev);
            }
            if (world_rank == 0) send_one(number, bytes);
            receive_one(number, bytes);
            if (world_rank == 1) send_one(number, bytes);
            number++;
        }
    }
}
