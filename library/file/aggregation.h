// SPDX-License-Identifier: BSD-3-Clause
/// Two-phase I/O: aggregators access the file for all ranks (collective_access.h).
#pragma once

#include "collective/schedule.h"
#include "file/access.h"
#include "file/coverage.h"

#include <functional>
#include <memory>
#include <vector>

namespace volley {

/// What a rank tells all others of its access. Plain data.
struct Announcement {
    Count first = 0, last = 0; ///< offsets in the file, between which it lies
    Count from = 0, to = 0;    ///< positions in the rank's view
    Count pieces = 0;          ///< of the file, about
    Count displacement = 0;    ///< of the view
    Count plan_bytes = 0;      ///< of the view's plan
    Count file_bytes = 0;      ///< how long the file is, before reads
    Count increasing = 0;      ///< 1: the view's offsets never decrease
};

class Aggregation {
  public:
    /// `told` has what each rank has told.
    Aggregation(Schedule &schedule, Access &access, std::vector<Announcement> told);

    /// Appends the first steps; those that follow append the others. The last calls `done` with an error code.
    int begin(std::function<int(int)> done);

  private:
    /// [first, last), offsets in the file or positions of a view.
    struct Range {
        Count first = 0, last = 0;
        bool is_empty() const {
            return first >= last;
        }
        Count bytes() const {
            return last - first;
        }
    };
    /// Memory that grows, and is kept from window to window.
    class Buffer {
      public:
        /// Room for so many bytes, whose contents are undefined.
        char *take(Count bytes);
        void empty() {
            filled_ = false;
        }
        char *get() const {
            return memory_.get();
        }
        explicit operator bool() const {
            return filled_;
        }

      private:
        std::unique_ptr<char[]> memory_;
        Count room_ = 0;
        bool filled_ = false;
    };
    /// What another rank accesses, as an aggregator knows it, or what this rank accesses, by aggregators.
    struct Party {
        Buffer plan;     ///< a copy of the rank's, if it is not this rank
        Buffer data;     ///< of one window, packed
        Range positions; ///< in the current window
        Count next = 0;  ///< where those of the next window begin
    };

    void choose_aggregators();
    Range domain(int aggregator) const;
    Range window(int aggregator, Count round) const;
    static bool overlap(const Range &one, const Announcement &other) {
        return one.first < other.last && other.first < one.last && other.first < other.last;
    }
    bool is_aggregator() const {
        return own_number_ >= 0;
    }
    View view_of(int rank) const;
    /// The positions of a rank's view that lie in the next window.
    void advance(Party &party, const View &view, const Announcement &told, const Range &window) const;

    void exchange_plans();
    int begin_round(Count round);
    int end_round(Count round);
    void send_to_aggregators();
    void receive_from_aggregators();
    void receive_data();
    void read_window(const Range &window);
    void send_data(const Range &window);
    void write_window(const Range &window);
    void keep_received();
    int agree_on_outcome();

    Schedule &schedule_;
    Access &access_;
    std::vector<Announcement> told_;
    std::function<int(int)> done_;
    std::vector<int> aggregators_; ///< ranks
    int own_number_ = -1;          ///< of this rank among them; -1: it is none
    Range whole_;                  ///< all that is accessed
    Count rounds_ = 0;
    std::vector<Party> towards_; ///< by aggregator: this rank's data
    std::vector<Party> parties_; ///< by rank: the data of all, in an aggregator
    Buffer buffer_;              ///< of an aggregator: the current window
    Coverage coverage_;
    int code_ = MPI_SUCCESS;
    Count own_class_ = MPI_SUCCESS;
    std::vector<Count> classes_; ///< of each rank, at the end
};

} // namespace volley
