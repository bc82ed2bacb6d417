// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Group_... (MPI 5.0, section 7.3).
#include "core/error.h"
#include "core/functions.h"
#include "core/group.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace volley {
namespace {

using Processes = std::vector<ProcessIndex>;

/// The handle of a new group, for the user. It derives from the same session as `origin`.
int give(const Group &origin, Processes members, MPI_Group *newgroup) {
    *newgroup = Group::make(std::move(members), origin.session())->handle();
    return MPI_SUCCESS;
}

/// Members named by a list of ranks: valid ones, each once.
class Selection {
  public:
    explicit Selection(const Group &group) : group_(group), chosen_(static_cast<std::size_t>(group.size()), false) {}

    int add(const char *argument, Count rank) {
        if (rank < 0 || rank >= group_.size())
            return fail(MPI_ERR_RANK, "%s names rank %lld, but the group has %d ranks, numbered from 0", argument,
                        static_cast<long long>(rank), group_.size());
        auto index = static_cast<std::size_t>(rank);
        if (chosen_[index])
            return fail(MPI_ERR_RANK, "%s names rank %lld twice", argument, static_cast<long long>(rank));
        chosen_[index] = true;
        in_order_.push_back(group_.process(static_cast<int>(rank)));
        return MPI_SUCCESS;
    }

    int add_list(int n, const int *ranks) {
        for (int i = 0; i < n; ++i)
            if (int code = add("ranks", ranks[i])) return code;
        return MPI_SUCCESS;
    }

    /// Triplets of first, last and stride; the last need not be hit.
    int add_ranges(int n, const int (*ranges)[3]) {
        for (int i = 0; i < n; ++i) {
            Count first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
            if (stride == 0) return fail(MPI_ERR_ARG, "the stride of ranges[%d] is 0", i);
            for (Count rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride)
                if (int code = add("ranges", rank)) return code;
        }
        return MPI_SUCCESS;
    }

    /// In the order they were named.
    Processes included() {
        return std::move(in_order_);
    }

    /// All others, in the group's order.
    Processes remaining() const {
        Processes remaining;
        for (int i = 0; i < group_.size(); ++i)
            if (!chosen_[static_cast<std::size_t>(i)]) remaining.push_back(group_.process(i));
        return remaining;
    }

  private:
    const Group &group_;
    std::vector<bool> chosen_;
    Processes in_order_;
};

bool has(const Group &group, ProcessIndex process) {
    return group.member(process) != MPI_UNDEFINED;
}

} // namespace

int mpi::Group_size(Group &group, int *size) {
    *size = group.size();
    return MPI_SUCCESS;
}

int mpi::Group_rank(Group &group, int *rank) {
    *rank = group.rank();
    return MPI_SUCCESS;
}

int mpi::Group_compare(Group &group1, Group &group2, int *result) {
    if (group1.processes() == group2.processes())
        *result = MPI_IDENT;
    else if (group1.size() == group2.size() &&
             std::ranges::all_of(group1.processes(), [&](ProcessIndex process) { return has(group2, process); }))
        *result = MPI_SIMILAR;
    else
        *result = MPI_UNEQUAL;
    return MPI_SUCCESS;
}

int mpi::Group_translate_ranks(Group &group1, int n, const int *ranks1, Group &group2, int *ranks2) {
    for (int i = 0; i < n; ++i) {
        int rank = ranks1[i];
        if (rank == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
            continue;
        }
        if (rank < 0 || rank >= group1.size())
            return fail(MPI_ERR_RANK, "ranks1[%d] is %d, but must be from 0 to %d or MPI_PROC_NULL", i, rank,
                        group1.size() - 1);
        ranks2[i] = group2.member(group1.process(rank));
    }
    return MPI_SUCCESS;
}

int mpi::Group_union(Group &group1, Group &group2, MPI_Group *newgroup) {
    Processes ranks = group1.processes();
    std::ranges::copy_if(group2.processes(), std::back_inserter(ranks),
                         [&](std::int32_t rank) { return !has(group1, rank); });
    return give(group1.session() ? group1 : group2, std::move(ranks), newgroup);
}

int mpi::Group_intersection(Group &group1, Group &group2, MPI_Group *newgroup) {
    Processes ranks;
    std::ranges::copy_if(group1.processes(), std::back_inserter(ranks),
                         [&](ProcessIndex process) { return has(group2, process); });
    return give(group1.session() ? group1 : group2, std::move(ranks), newgroup);
}

int mpi::Group_difference(Group &group1, Group &group2, MPI_Group *newgroup) {
    Processes ranks;
    std::ranges::copy_if(group1.processes(), std::back_inserter(ranks),
                         [&](std::int32_t rank) { return !has(group2, rank); });
    return give(group1.session() ? group1 : group2, std::move(ranks), newgroup);
}

int mpi::Group_incl(Group &group, int n, const int *ranks, MPI_Group *newgroup) {
    Selection selection(group);
    if (int code = selection.add_list(n, ranks)) return code;
    return give(group, selection.included(), newgroup);
}

int mpi::Group_excl(Group &group, int n, const int *ranks, MPI_Group *newgroup) {
    Selection selection(group);
    if (int code = selection.add_list(n, ranks)) return code;
    return give(group, selection.remaining(), newgroup);
}

int mpi::Group_range_incl(Group &group, int n, int (*ranges)[3], MPI_Group *newgroup) {
    Selection selection(group);
    if (int code = selection.add_ranges(n, ranges)) return code;
    return give(group, selection.included(), newgroup);
}

int mpi::Group_range_excl(Group &group, int n, int (*ranges)[3], MPI_Group *newgroup) {
    Selection selection(group);
    if (int code = selection.add_ranges(n, ranges)) return code;
    return give(group, selection.remaining(), newgroup);
}

int mpi::Group_free(MPI_Group *group) {
    Group *named = Group::from_handle(*group);
    if (named == nullptr)
        return fail(MPI_ERR_GROUP, "group is %s, but must be a group",
                    *group == MPI_GROUP_NULL ? "MPI_GROUP_NULL" : "none, or one that was freed");
    // MPI_GROUP_EMPTY is a result like others, and what a function returned may be freed; the constant stays.
    if (*group != MPI_GROUP_EMPTY) Group::release(*named);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

} // namespace volley
