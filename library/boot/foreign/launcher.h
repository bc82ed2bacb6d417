// SPDX-License-Identifier: BSD-3-Clause
/// A launcher that is not this library's mpiexec and has started this process as one of several: Slurm's srun, Hydra of
/// MPICH and Intel MPI, PRRTE's prterun. What it offers is a space of keys and short values, by which ranks tell each
/// other how they are reached (boot/foreign/join.h).
#pragma once

#include "boot/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace volley {

/// The launcher, or another rank, is gone: that is what follows from another rank's failure, or from the launcher's,
/// which has been said or will be.
class Gone : public Error {
  public:
    using Error::Error;
};

class ForeignLauncher {
  public:
    ForeignLauncher() = default;
    ForeignLauncher(const ForeignLauncher &) = delete;
    ForeignLauncher &operator=(const ForeignLauncher &) = delete;
    virtual ~ForeignLauncher() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int ranks() const = 0;
    /// Which program of an MPMD job this is.
    virtual int application() = 0;
    /// The host of each rank, as the launcher numbers hosts; nothing if it does not tell.
    virtual std::optional<std::vector<std::int32_t>> hosts() = 0;
    /// Returns once all ranks have called it: what they have published before can be read then. Throws Gone if that
    /// cannot be any more.
    virtual void fence() = 0;
    /// This process ends well; later calls do nothing.
    virtual void finalize() = 0;
    /// Asks for the end of the job with that status.
    virtual void abort(int status) = 0;

    /// Tells all ranks a text without spaces, of any length, under a key of this rank's own. Throws Error.
    void publish(const std::string &key, const std::string &text);
    /// The text that a rank has published before the last fence. Throws Error.
    std::string read(const std::string &key, int publisher);

  protected:
    /// The most characters that one value has.
    [[nodiscard]] virtual std::size_t longest_value() const = 0;
    virtual void put(const std::string &key, const std::string &value) = 0;
    virtual std::string get(const std::string &key, int publisher) = 0;
};

/// The one that has started this process: as the environment says, one that speaks PMI-1 (boot/foreign/pmi.h) or PMIx
/// (boot/foreign/pmix.h). nullptr: there is none. Throws Error.
std::unique_ptr<ForeignLauncher> find_foreign_launcher();

} // namespace volley
