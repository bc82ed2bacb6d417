// SPDX-License-Identifier: BSD-3-Clause
#include "file/collective_access.h"

#include "collective/algorithms.h"
#include "collective/plans.h"
#include "core/error.h"
#include "file/aggregation.h"

#include <algorithm>
#include <vector>

namespace volley {
namespace {

/// From pieces of this size on, a call for each costs less than a copy through an aggregator.
constexpr Count long_piece = 64 << 10;

/// Aggregators go through all of the file between the first byte and the last: where less than one in so many is
/// accessed, in windows in which mostly nothing is.
constexpr Count sparse = 64;

/// What is decided from what all ranks have told, and then done.
class CollectiveAccess final : public std::enable_shared_from_this<CollectiveAccess> {
  public:
    CollectiveAccess(Schedule &schedule, std::shared_ptr<Access> access)
        : schedule_(schedule), access_(std::move(access)),
          announced_(static_cast<std::size_t>(schedule.communicator->size())) {}

    int begin() {
        if (int code = announce(own_); code != MPI_SUCCESS) return code;
        Passed all{announced_.data(), sizeof(Announcement), MPI_BYTE};
        if (int code = plan_allgather(schedule_, {&own_, sizeof own_, MPI_BYTE}, all); code != MPI_SUCCESS) return code;
        schedule_.end_round();
        schedule_.call([self = shared_from_this()] { return self->decide(); });
        return MPI_SUCCESS;
    }

  private:
    int announce(Announcement &told) const {
        const FileView &view = access_->view();
        const View &shown = view.shown();
        told.increasing = view.is_increasing();
        if (access_->bytes() > 0 && shown.tile_bytes() > 0) {
            told.from = access_->from();
            told.to = access_->to();
            told.first = shown.offset_of(told.from);
            told.last = shown.offset_of(told.to - 1) + 1;
            told.pieces = shown.count_pieces(told.from, told.to);
            told.displacement = shown.displacement();
            told.plan_bytes = shown.plan().bytes;
        }
        return access_->writes() ? MPI_SUCCESS : access_->file().size(told.file_bytes);
    }

    int decide() {
        if (!is_worth_collecting()) {
            int code = access_->run();
            return conclude(code);
        }
        aggregation_ = std::make_unique<Aggregation>(schedule_, *access_, std::move(announced_));
        // The schedule keeps this object as long as itself, by the call that has come here.
        return aggregation_->begin([this](int code) { return conclude(code); });
    }

    int conclude(int code) {
        int finished = access_->finish(schedule_.completion.bytes);
        return code != MPI_SUCCESS ? code : finished;
    }

    bool is_worth_collecting() const {
        const File &file = access_->file();
        Choice choice = access_->writes() ? file.hints.collect_writes : file.hints.collect_reads;
        bool possible = std::ranges::all_of(announced_, [](const Announcement &one) { return one.increasing != 0; });
        if (choice == Choice::disable || !possible || file.atomic) return false;
        Count bytes = 0, pieces = 0, first = INT64_MAX, last = 0;
        for (const Announcement &one : announced_) {
            bytes += one.to - one.from;
            pieces += one.pieces;
            if (one.first < one.last) first = std::min(first, one.first);
            last = std::max(last, one.last);
        }
        if ((last - std::min(first, last)) / sparse > std::max(bytes, file.hints.buffer_bytes)) return false;
        if (choice == Choice::enable) return true;
        return pieces > 0 && bytes / pieces < long_piece && interleave();
    }

    /// Whether what ranks access is mixed: a rank begins before another ends.
    bool interleave() const {
        std::vector<Announcement> sorted;
        std::ranges::copy_if(announced_, std::back_inserter(sorted),
                             [](const Announcement &one) { return one.first < one.last; });
        std::ranges::sort(sorted, {}, &Announcement::first);
        for (std::size_t i = 1; i < sorted.size(); ++i)
            if (sorted[i].first < sorted[i - 1].last) return true;
        return false;
    }

    Schedule &schedule_;
    std::shared_ptr<Access> access_;
    Announcement own_{};
    std::vector<Announcement> announced_;
    std::unique_ptr<Aggregation> aggregation_;
};

/// In the order of ranks, from where the shared file pointer is.
class OrderedAccess final : public std::enable_shared_from_this<OrderedAccess> {
  public:
    OrderedAccess(Schedule &schedule, std::shared_ptr<Access> access)
        : schedule_(schedule), access_(std::move(access)), bytes_(static_cast<std::size_t>(team().size)) {}

    int begin() {
        own_ = access_->bytes();
        Passed all{bytes_.data(), sizeof own_, MPI_BYTE};
        if (int code = plan_allgather(schedule_, {&own_, sizeof own_, MPI_BYTE}, all); code != MPI_SUCCESS) return code;
        schedule_.end_round();
        schedule_.call([self = shared_from_this()] { return self->take_part(); });
        return MPI_SUCCESS;
    }

  private:
    Team team() const {
        return Team::all(*schedule_.communicator);
    }

    /// Rank 0 moves the pointer for all, and tells where it was, or that it could not.
    int take_part() {
        if (team().rank == 0) {
            Count total = 0;
            for (Count bytes : bytes_) total += bytes;
            code_ = access_->file().shared.advance(total, start_);
            if (code_ != MPI_SUCCESS) start_ = -1;
        }
        add_broadcast(schedule_, team(), bytes_at(&start_, sizeof start_), 0);
        schedule_.end_round();
        schedule_.call([self = shared_from_this()] { return self->run(); });
        return MPI_SUCCESS;
    }

    int run() {
        if (code_ != MPI_SUCCESS) return code_;
        if (start_ < 0) return fail(MPI_ERR_IO, "rank 0 could not move the shared file pointer");
        Count position = start_;
        for (int rank = 0; rank < team().rank; ++rank) position += bytes_[static_cast<std::size_t>(rank)];
        int code = access_->place(position);
        if (code == MPI_SUCCESS) code = access_->run();
        int finished = access_->finish(schedule_.completion.bytes);
        return code != MPI_SUCCESS ? code : finished;
    }

    Schedule &schedule_;
    std::shared_ptr<Access> access_;
    std::vector<Count> bytes_; ///< of each rank
    Count own_ = 0;
    Count start_ = 0;
    int code_ = MPI_SUCCESS;
};

} // namespace

int plan_collective_access(Schedule &schedule, std::shared_ptr<Access> access) {
    return std::make_shared<CollectiveAccess>(schedule, std::move(access))->begin();
}

int plan_ordered_access(Schedule &schedule, std::shared_ptr<Access> access) {
    return std::make_shared<OrderedAccess>(schedule, std::move(access))->begin();
}

} // namespace volley
