// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Comm_spawn and MPI_Comm_spawn_multiple (MPI 5.0, section 11.8): the root has a further job started, whose ranks
/// connect to a port of the root in MPI_Init.
#include "boot/error.h"
#include "collective/internal.h"
#include "communicator/new_communicator.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/info.h"
#include "dynamic/connect.h"
#include "dynamic/new_job.h"
#include "dynamic/parent.h"
#include "dynamic/port.h"
#include "transport/node.h"
#include "transport/tcp/tcp.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace volley {
namespace {

/// One program, as the root names it.
struct Command {
    const char *program;
    char **arguments; ///< MPI_ARGV_NULL: none
    int most;         ///< processes
    const Info *info;
    int processes = 0; ///< to be started
};

const std::string *hint(const Command &command, std::string_view key) {
    return command.info ? command.info->find(key) : nullptr;
}

/// The numbers of one "a", "a:b" or "a:b:c" of the hint "soft", as far as they are not above `most`: the greatest of
/// them, or 0.
int greatest_of(const std::string &range, int most) {
    int parts[3] = {0, 0, 1};
    int count = 0;
    std::istringstream stream(range);
    for (std::string part; count < 3 && std::getline(stream, part, ':'); count++)
        std::from_chars(part.data(), part.data() + part.size(), parts[count]);
    if (count == 1) parts[1] = parts[0];
    int greatest = 0;
    const int step = parts[2];
    for (int number = parts[0]; step != 0 && (step > 0 ? number <= parts[1] : number >= parts[1]); number += step)
        if (number <= most)
            greatest = std::max(greatest, number);
        else if (step > 0)
            break;
    return greatest;
}

/// All that are asked for, unless "soft" says that only fewer will do.
int processes_of(const Command &command) {
    const std::string *soft = hint(command, "soft");
    if (!soft) return command.most;
    int greatest = 0;
    std::istringstream stream(*soft);
    for (std::string range; std::getline(stream, range, ',');)
        greatest = std::max(greatest, greatest_of(range, command.most));
    return greatest;
}

/// The program, looked for in the folders that the hint "path" names.
std::string program_of(const Command &command) {
    const std::string *path = hint(command, "path");
    const std::string program = command.program;
    if (!path || program.find('/') != std::string::npos) return program;
    std::istringstream stream(*path);
    for (std::string folder; std::getline(stream, folder, ':');)
        if (const std::string found = folder + "/" + program; access(found.c_str(), X_OK) == 0)
            return std::filesystem::absolute(found);
    return program;
}

void add_variables(const Command &command, std::vector<std::string> &words) {
    const std::string *variables = hint(command, "env");
    if (!variables) return;
    std::istringstream stream(*variables);
    for (std::string variable; std::getline(stream, variable);)
        if (const std::size_t equals = variable.find('='); equals != std::string::npos)
            words.insert(words.end(), {"-env", variable.substr(0, equals), variable.substr(equals + 1)});
}

/// mpiexec's arguments for one program.
int add_words(const Command &command, std::vector<std::string> &words) {
    const std::string *folder = hint(command, "wdir");
    if (!words.empty()) words.emplace_back(":");
    // The new ranks share the processors with those that are here.
    words.insert(words.end(), {"--bind", "none", "-n", std::to_string(command.processes), "-wdir",
                               folder ? *folder : std::filesystem::current_path().string()});
    if (const std::string *host = hint(command, "host"); host && *host != "localhost")
        words.insert(words.end(), {"--hosts", *host + ":" + std::to_string(command.processes)});
    add_variables(command, words);
    words.push_back(program_of(command));
    if (words.back().empty() || words.back()[0] == '-')
        return fail(MPI_ERR_SPAWN, "command is \"%s\", which is no program's name", command.program);
    for (char **argument = command.arguments; argument && *argument; argument++) {
        if (std::string_view(*argument) == ":")
            return fail(MPI_ERR_SPAWN, "an argument of %s is \":\", which mpiexec takes for the end of arguments",
                        command.program);
        words.emplace_back(*argument);
    }
    return MPI_SUCCESS;
}

/// Called at the root: fills in how many processes there are to be.
int prepare(std::vector<Command> &commands, std::vector<std::string> &words) {
    for (Command &command : commands) {
        if (!command.program) return fail(MPI_ERR_ARG, "command is a null pointer");
        if (command.most < 1)
            return fail(MPI_ERR_ARG, "maxprocs is %d for %s, but must be at least 1", command.most, command.program);
        command.processes = processes_of(command);
        if (command.processes < 1)
            return fail(MPI_ERR_SPAWN, "\"soft\" allows no number of processes of %s from 1 to %d", command.program,
                        command.most);
        if (int code = add_words(command, words); code != MPI_SUCCESS) return code;
    }
    return commands.empty() ? fail(MPI_ERR_ARG, "count is 0, but must be at least 1") : MPI_SUCCESS;
}

int start(std::vector<Command> &commands, Meeting &meeting) {
    std::vector<std::string> words;
    if (int code = prepare(commands, words); code != MPI_SUCCESS) return code;
    // The further job is in the same universe as this one, and may ask how large that is before it starts others.
    if (node.universe_size > 0) words.insert(words.begin(), {"--universe-size", std::to_string(node.universe_size)});
    try {
        Port port(address_of(node.number()));
        NewJob job(words, port.name().text(), launcher_socket());
        Descriptor socket = port.accept([&] { return job.has_ended(); }, job.descriptor());
        if (!socket)
            return fail(MPI_ERR_SPAWN, "%s could not be started: %s", commands.front().program,
                        job.reason().empty() ? "it ended before MPI_Init" : job.reason().c_str());
        meeting.link = Link(std::move(socket));
        meeting.accepts = true;
        return MPI_SUCCESS;
    } catch (const Error &error) {
        return fail(MPI_ERR_SPAWN, "%s could not be started: %s", commands.front().program, error.what());
    }
}

/// An error code for each process that the root has asked for.
int give_codes(const std::vector<Command> &commands, bool good, int root, Communicator &comm, int *codes) {
    std::vector<int> all;
    for (const Command &command : commands)
        for (int process = 0; process < command.most; process++)
            all.push_back(good && process < command.processes ? MPI_SUCCESS : MPI_ERR_SPAWN);
    auto count = static_cast<std::int64_t>(all.size());
    if (int code = broadcast(&count, sizeof count, root, comm); code != MPI_SUCCESS) return code;
    all.resize(static_cast<std::size_t>(count));
    if (int code = broadcast(all.data(), count * static_cast<Count>(sizeof all[0]), root, comm); code != MPI_SUCCESS)
        return code;
    if (codes != MPI_ERRCODES_IGNORE) std::ranges::copy(all, codes);
    return MPI_SUCCESS;
}

/// `commands` mean something at the root only.
int spawn(std::vector<Command> commands, int root, Communicator &comm, MPI_Comm *intercomm, int *codes) {
    Communicator *made = nullptr;
    int code = connect_groups(comm, root, [&](Meeting &meeting) { return start(commands, meeting); }, made);
    if (int failure = give_codes(commands, code == MPI_SUCCESS, root, comm, codes); code == MPI_SUCCESS) code = failure;
    if (code == MPI_SUCCESS) *intercomm = hand_out(comm, made);
    return code;
}

} // namespace

namespace mpi {

int Comm_spawn(const char *command, char **argv, int maxprocs, Info *info, int root, Communicator &comm,
               MPI_Comm *intercomm, int *array_of_errcodes) {
    *intercomm = MPI_COMM_NULL;
    if (int code = check_root(root, comm); code != MPI_SUCCESS) return code;
    std::vector<Command> commands;
    if (comm.rank() == root) commands.push_back({command, argv, maxprocs, info});
    return spawn(std::move(commands), root, comm, intercomm, array_of_errcodes);
}

int Comm_spawn_multiple(int count, char **array_of_commands, char ***array_of_argv, const int *array_of_maxprocs,
                        const MPI_Info *array_of_info, int root, Communicator &comm, MPI_Comm *intercomm,
                        int *array_of_errcodes) {
    *intercomm = MPI_COMM_NULL;
    if (int code = check_root(root, comm); code != MPI_SUCCESS) return code;
    std::vector<Command> commands;
    for (int i = 0; comm.rank() == root && i < count; i++)
        commands.push_back({array_of_commands[i], array_of_argv ? array_of_argv[i] : MPI_ARGV_NULL,
                            array_of_maxprocs[i], Info::from_handle(array_of_info[i])});
    return spawn(std::move(commands), root, comm, intercomm, array_of_errcodes);
}

} // namespace mpi
} // namespace volley
