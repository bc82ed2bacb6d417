// SPDX-License-Identifier: BSD-3-Clause
/// PMI version 1, the protocol of MPICH's Hydra and its relatives: lines of text over an inherited socket.
///
/// Wire: each request is one line "cmd=NAME key=value ...\n", each answer too (MPICH: src/pmi/doc). Values hold
/// neither spaces nor newlines.
#pragma once

#include <string>

namespace volley::pmi {

class Client {
  public:
    int rank() const {
        return rank_;
    }
    int ranks() const {
        return ranks_;
    }
    /// Whether the launcher placed all ranks on one host, by its PMI_process_mapping.
    bool one_host();

    void put(const std::string &key, const std::string &value);
    std::string get(const std::string &key);
    void barrier();
    void finalize();
    void abort(int code);

  private:
    friend Client *connect();
    Client(int socket, int rank, int ranks);

    std::string ask(const std::string &request, const std::string &expected);
    std::string read_line();

    int socket_;
    int rank_;
    int ranks_;
    bool finalized_ = false;
    std::string space_; ///< name of the key-value space
    std::string rest_;  ///< read beyond the last line
};

/// Connects to the launcher, once a process; nullptr if none that speaks PMI has started this one. Throws Error.
Client *connect();

} // namespace volley::pmi
