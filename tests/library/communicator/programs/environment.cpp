// SPDX-License-Identifier: BSD-3-Clause
// MPI_Info_create_env tells before MPI_Init what it tells after (MPI 5.0, section 11.2.1).
#include "check.h"

#include <map>
#include <string>

#include <unistd.h>

namespace {

std::map<std::string, std::string> environment(int count, char **arguments) {
    MPI_Info info;
    MPI_Info_create_env(count, arguments, &info);
    int keys = 0;
    MPI_Info_get_nkeys(info, &keys);
    std::map<std::string, std::string> all;
    for (int n = 0; n < keys; n++) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
        int length = sizeof value, flag = 0;
        MPI_Info_get_nthkey(info, n, key);
        MPI_Info_get_string(info, key, &length, value, &flag);
        all[key] = value;
    }
    MPI_Info_free(&info);
    return all;
}

} // namespace

int main(int count, char **arguments) {
    auto before = environment(count, arguments);
    int provided = 0;
    MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
    CHECK(chdir("/") == 0);
    CHECK(environment(count, arguments) == before);
    CHECK(before["maxprocs"] == std::to_string(size_of(MPI_COMM_WORLD)));
    MPI_Finalize();
    CHECK(environment(count, arguments) == before);
    return 0;
}
