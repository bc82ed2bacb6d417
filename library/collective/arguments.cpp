// SPDX-License-Identifier: BSD-3-Clause
#include "collective/arguments.h"

#include "core/error.h"
#include "core/failures.h"

namespace volley {

Count Blocks::bytes(int blocks) const {
    if (!varying_) return blocks * count_ * type_->size();
    Count sum = 0;
    for (int i = 0; i < blocks; ++i) sum += (*this)[i].bytes();
    return sum;
}

Datatype *Arguments::type(const char *name, MPI_Datatype handle) {
    if (!ok()) return nullptr;
    Datatype *type = Datatype::from_handle(handle);
    if (type == nullptr)
        code_ = fail(MPI_ERR_TYPE, "%s is %s", name,
                     handle == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : "no datatype, or was freed before");
    else if (!type->is_committed())
        code_ = fail(MPI_ERR_TYPE, "%s has not been committed; MPI_Type_commit does that", name);
    return type;
}

void Arguments::elements(const char *name, Count count, const Datatype &type) {
    if (!ok() || type.can_count(count)) return;
    code_ = count < 0 ? fail(MPI_ERR_COUNT, "%s is %lld, but must not be negative", name, static_cast<long long>(count))
                      : too_many_elements(name, count, type);
}

void Arguments::repeated(const char *name, Count count, int number, const Datatype &type) {
    const Checked all = Checked(number) * count;
    if (!ok() || (!all.overflow() && type.can_count(all.value()))) return;
    code_ = fail(MPI_ERR_COUNT,
                 "%s is %lld, but %d blocks of so many elements of %lld bytes, with an extent of %lld, "
                 "exceed 2^56 - 1 bytes",
                 name, static_cast<long long>(count), number, static_cast<long long>(type.size()),
                 static_cast<long long>(type.extent()));
}

void Arguments::total(const char *name, CountArray values, int number, MPI_Datatype handle) {
    counts(name, values, number);
    const Datatype *decoded = type("datatype", handle);
    Checked sum;
    for (int i = 0; i < number && ok(); ++i) sum = sum + values[i];
    if (ok() && (sum.overflow() || !decoded->can_count(sum.value())))
        code_ = fail(MPI_ERR_COUNT, "%ss are together more elements of %lld bytes than fit into 2^56 - 1 bytes", name,
                     static_cast<long long>(decoded->size()));
}

/// All blocks together are no more than a message, and where each begins is what a Count can tell.
void Arguments::together(const char *name, const Blocks &blocks, int number) {
    Checked sum;
    for (int i = 0; i < number && ok(); ++i) {
        Datatype &type = blocks.types_ != nullptr ? *Datatype::from_handle(blocks.types_[i]) : *blocks.type_;
        elements(name, blocks.counts_[i], type);
        sum = sum + Checked(blocks.counts_[i]) * type.size();
        if (ok() && blocks.types_ == nullptr && (Checked(blocks.displacements_[i]) * blocks.extent_).overflow())
            code_ = fail(MPI_ERR_ARG, "displacement %d is %lld, but times the extent of %lld exceeds 2^63 - 1 bytes", i,
                         static_cast<long long>(blocks.displacements_[i]), static_cast<long long>(blocks.extent_));
    }
    if (ok() && (sum.overflow() || sum.value() > largest_message))
        code_ = fail(MPI_ERR_COUNT, "%ss are together more than 2^56 - 1 bytes", name);
}

void Arguments::counts(const char *name, CountArray values, int number) {
    for (int i = 0; i < number && ok(); ++i)
        if (values[i] < 0)
            code_ = fail(MPI_ERR_COUNT, "%ss[%d] is %lld, but must not be negative", name, i,
                         static_cast<long long>(values[i]));
}

void Arguments::buffer(const char *name, const void *address, Count count, const Datatype &type) {
    if (!ok() || count == 0 || type.size() == 0) return;
    // MPI_BOTTOM is a null pointer, too; but then a type needs displacements.
    if (address == nullptr && type.is_predefined())
        code_ = fail(MPI_ERR_BUFFER, "%s is a null pointer, but count is %lld", name, static_cast<long long>(count));
    if (address == MPI_IN_PLACE) code_ = fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which is not allowed here", name);
}

Block Arguments::block(const Names &names, const Passed &passed) {
    Datatype *decoded = type(names.type, passed.type);
    if (ok()) elements(names.count, passed.count, *decoded);
    if (ok()) buffer(names.buffer, passed.buffer, passed.count, *decoded);
    return {static_cast<char *>(const_cast<void *>(passed.buffer)), passed.count, decoded};
}

Blocks Arguments::blocks(const Names &names, const Passed &passed, int blocks) {
    Block first = block(names, passed);
    Blocks result;
    if (!ok()) return result;
    repeated(names.count, passed.count, blocks, *first.type);
    if (!ok()) return result;
    result.base_ = first.address;
    result.count_ = first.count;
    result.type_ = first.type;
    result.extent_ = first.type->extent();
    return result;
}

Blocks Arguments::blocks(const Names &names, const PassedEach &passed, int blocks) {
    Blocks result;
    result.base_ = static_cast<char *>(const_cast<void *>(passed.buffer));
    result.varying_ = true;
    result.counts_ = passed.counts;
    result.displacements_ = passed.displacements;
    result.type_ = type(names.type, passed.type);
    counts(names.count, passed.counts, blocks);
    for (int i = 0; i < blocks && ok(); ++i)
        if (passed.displacements[i] == 0) buffer(names.buffer, passed.buffer, passed.counts[i], *result.type_);
    if (!ok()) return result;
    result.extent_ = result.type_->extent();
    together(names.count, result, blocks);
    return result;
}

Blocks Arguments::blocks(const Names &names, const PassedMixed &passed, int blocks) {
    Blocks result;
    result.base_ = static_cast<char *>(const_cast<void *>(passed.buffer));
    result.varying_ = true;
    result.counts_ = passed.counts;
    result.displacements_ = passed.displacements;
    result.types_ = passed.types;
    counts(names.count, passed.counts, blocks);
    for (int i = 0; i < blocks && ok(); ++i) {
        Datatype *decoded = type(names.type, passed.types[i]);
        if (ok() && passed.displacements[i] == 0) buffer(names.buffer, passed.buffer, passed.counts[i], *decoded);
    }
    if (ok()) together(names.count, result, blocks);
    return result;
}

Block Arguments::operands(const char *buffer_name, const Passed &passed, const Operation &operation) {
    Block result = block({buffer_name, "count", "datatype"}, passed);
    if (!ok()) return result;
    code_ = check_applies(operation, *result.type);
    if (ok() && operation.is_assignment())
        code_ = fail(MPI_ERR_OP, "op is %s, which is only for one-sided communication", operation.name());
    return result;
}

void Arguments::root(int root, const Communicator &communicator) {
    if (!ok() || (root >= 0 && root < communicator.peers())) return;
    if (communicator.is_revoked())
        code_ = failures.code_of(communicator);
    else if (!communicator.is_inter())
        code_ = fail(MPI_ERR_ROOT, "root is %d, but must be a rank of the communicator, 0 to %d", root,
                     communicator.peers() - 1);
    else if (root != MPI_ROOT && root != MPI_PROC_NULL)
        code_ = fail(MPI_ERR_ROOT,
                     "root is %d, but must be MPI_ROOT, MPI_PROC_NULL, or a rank of the remote group, 0 to %d", root,
                     communicator.peers() - 1);
}

void Arguments::intracommunicator(const Communicator &communicator, const char *function) {
    if (ok() && communicator.is_inter())
        code_ = fail(MPI_ERR_COMM, "comm is an intercommunicator, but %s is for intracommunicators", function);
}

void Arguments::not_in_place(const char *name, const void *address, const char *reason) {
    if (ok() && address == MPI_IN_PLACE)
        code_ = fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, which is not allowed %s", name, reason);
}

void Arguments::apart(const Block &sent, const Block &received) {
    if (!ok() || sent.bytes() == 0 || received.bytes() == 0) return;
    // Types with gaps may share an address and no byte.
    if (!sent.type->is_contiguous() || !received.type->is_contiguous()) return;
    if (sent.address + sent.type->true_lb() != received.address + received.type->true_lb()) return;
    code_ = fail(MPI_ERR_BUFFER, "sendbuf and recvbuf are the same memory (%p); use MPI_IN_PLACE", sent.address);
}

int check_fits(Count sent, Count to_be_received) {
    if (sent <= to_be_received) return MPI_SUCCESS;
    return fail(MPI_ERR_TRUNCATE, "%lld bytes were sent, but at most %lld are to be received",
                static_cast<long long>(sent), static_cast<long long>(to_be_received));
}

} // namespace volley
