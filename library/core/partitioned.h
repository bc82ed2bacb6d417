// SPDX-License-Identifier: BSD-3-Clause
/// Partitioned communication (MPI 5.0 §4.2): a persistent message whose parts threads mark as ready one by one.
///
/// A send and a receive that belong together form a *channel*. MPI_Psend_init sends its *setup*, which says how the
/// data are divided, with the program's tag in a context of its own; MPI_Precv_init receives it. So the rules of
/// matching, by order of initialisation, are those of all messages, and only partitioned operations match each other.
///
/// MPI_Pready sends the partition as a message with a tag of its own in another context, in which nothing else is
/// matched. The receiver posts a receive for each partition of the sender, straight into its buffer, whose own
/// partitions may be others. A partition of the sender that ends within an element of a datatype with gaps is received
/// in memory of the library and unpacked.
#pragma once

#include "core/point_to_point.h"

#include <memory>
#include <string>
#include <vector>

namespace volley {

/// What the program has passed to MPI_Psend_init or MPI_Precv_init.
struct PartitionedArguments {
    Data partition; ///< the first one
    int partitions;
    int peer;
    int tag;
    Communicator &communicator;
};

/// What a sender tells its receiver of a channel.
struct PartitionedSetup {
    std::int64_t bytes;      ///< of a partition
    std::int32_t partitions; ///< of the sender
    std::int32_t first_tag;  ///< of the first partition's messages; the others follow
};

/// What both sides have in common.
class PartitionedRequest : public Request, protected ProgressHook {
  public:
    int start() override;
    const Data &partition() const {
        return partition_;
    }
    int partitions() const {
        return partitions_;
    }
    /// MPI_SUCCESS, or the error of a partition that does not exist.
    int check(int partition) const;

  protected:
    explicit PartitionedRequest(const PartitionedArguments &arguments);
    ~PartitionedRequest() override;
    Address address(Traffic traffic, int tag) const {
        return {*communicator, peer_, tag, traffic};
    }
    /// Begins the operation whose arguments name a process.
    virtual int begin() = 0;
    /// Ends it. The request may be gone afterwards.
    void finish_with(const Completion &result);
    WaitingFor about(WaitKind kind) const;

    Data partition_;
    int partitions_;
    int peer_;
    int tag_;

  private:
    bool hooked_ = false;
};

class PartitionedSend final : public PartitionedRequest {
  public:
    explicit PartitionedSend(const PartitionedArguments &arguments);
    /// MPI_Pready. Returns an error code.
    int ready(int partition);
    const char *name() const override {
        return "MPI_Psend_init";
    }
    WaitingFor about() const override {
        return PartitionedRequest::about(WaitKind::send);
    }

  private:
    ~PartitionedSend() override;
    int begin() override;
    void progress() override;

    std::unique_ptr<PartitionedSetup> setup_;
    Request *sending_setup_ = nullptr; ///< nullptr to MPI_PROC_NULL
    std::vector<Request *> sends_;     ///< one for each partition, persistent
    std::vector<bool> ready_;          ///< since the request was started
    int ready_count_ = 0;
    int complete_count_ = 0; ///< the first so many are complete
    int error_ = MPI_SUCCESS;
};

class PartitionedReceive final : public PartitionedRequest {
  public:
    explicit PartitionedReceive(const PartitionedArguments &arguments);
    /// MPI_Parrived, without progress.
    bool has_arrived(int partition) const;
    const char *name() const override {
        return "MPI_Precv_init";
    }
    WaitingFor about() const override {
        return PartitionedRequest::about(WaitKind::receive);
    }

  private:
    /// The message of a partition of the sender.
    struct Piece {
        Request *receive;
        std::string packed; ///< where it is received if the buffer has no place of that form
    };

    ~PartitionedReceive() override;
    int begin() override;
    void progress() override;
    void make_pieces();
    Data place_of(Count from, Count to, std::string &packed) const;
    void unpack_piece(std::size_t number);
    Count capacity() const {
        return partition_.size() * partitions_;
    }

    PartitionedSetup setup_{};
    Request *receiving_setup_ = nullptr; ///< nullptr once it is there, and from MPI_PROC_NULL
    std::vector<Piece> pieces_;
    bool posted_ = false;            ///< since the request was started
    std::size_t complete_count_ = 0; ///< the first so many are complete
};

} // namespace volley
