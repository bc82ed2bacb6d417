// SPDX-License-Identifier: BSD-3-Clause
/// PMI version 1, the protocol of MPICH's Hydra and its relatives, which Slurm's plugin "pmi2" speaks as well: lines of
/// text over an inherited socket.
///
/// Wire: each request is one line "cmd=NAME key=value ...\n", each answer too (MPICH: src/pmi/doc). Values hold
/// neither spaces nor newlines.
#pragma once

#include "boot/foreign/launcher.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace volley::pmi {

/// What "PMI_process_mapping" says: the host of each rank. It is "(vector,(first host,hosts,ranks on each),...)", whose
/// blocks begin anew if there are more ranks. Nothing if it says something else.
std::optional<std::vector<std::int32_t>> hosts_of(const std::string &mapping, int ranks);

class Client final : public ForeignLauncher {
  public:
    Client(int socket, int rank, int ranks);

    [[nodiscard]] int rank() const override {
        return rank_;
    }
    [[nodiscard]] int ranks() const override {
        return ranks_;
    }
    int application() override;
    std::optional<std::vector<std::int32_t>> hosts() override;
    void fence() override;
    void finalize() override;
    void abort(int status) override;

  private:
    [[nodiscard]] std::size_t longest_value() const override {
        return longest_value_;
    }
    void put(const std::string &key, const std::string &value) override;
    std::string get(const std::string &key, int publisher) override;
    std::string ask(const std::string &request, const std::string &expected);
    std::string read_line();

    int socket_;
    int rank_;
    int ranks_;
    bool finalized_ = false;
    std::size_t longest_value_;
    std::string space_; ///< name of the key-value space
    std::string rest_;  ///< read beyond the last line
};

/// Connects to the launcher, once a process; nullptr if none that speaks PMI has started this one. Throws Error.
std::unique_ptr<ForeignLauncher> connect();

} // namespace volley::pmi
