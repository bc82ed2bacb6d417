// SPDX-License-Identifier: BSD-3-Clause
#include "collective/schedule.h"

#include "core/error.h"
#include "core/failures.h"
#include "core/point_to_point.h"
#include "layout/copy.h"

#include <algorithm>
#include <utility>

namespace volley {
namespace {

/// Temporary memory up to this size is kept for the next operation.
constexpr std::size_t most_scratch_bytes = std::size_t{1} << 20;

/// Tags are not negative.
constexpr std::uint32_t tag_mask = 0x7fff'ffff;

Pool<Schedule> &pool() {
    static auto *made = new Pool<Schedule>;
    return *made;
}

Data data_of(const Block &block) {
    return {block.address, block.count, block.type};
}

} // namespace

void Schedule::Workspace::clear() {
    steps.clear();
    pending.clear();
    temporaries.clear();
    for (Datatype *type : kept) type->release();
    kept.clear();
    work.clear();
    std::size_t wanted = std::min(scratch_wanted, most_scratch_bytes);
    if (wanted > scratch_bytes) {
        scratch.reset(new char[wanted + cache_line]);
        scratch_bytes = wanted;
    }
    scratch_used = scratch_wanted = 0;
}

std::vector<std::unique_ptr<Schedule::Workspace>> &Schedule::spare() {
    static auto *made = new std::vector<std::unique_ptr<Workspace>>;
    return *made;
}

std::unique_ptr<Schedule::Workspace> Schedule::take_workspace() {
    if (spare().empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> taken = std::move(spare().back());
    spare().pop_back();
    return taken;
}

void Schedule::put_back(std::unique_ptr<Workspace> workspace) {
    workspace->clear();
    spare().push_back(std::move(workspace));
}

Schedule::Schedule(const char *name, Communicator &among, Form form)
    : name_(name), form_(form), workspace_(take_workspace()) {
    communicator = &among;
    carriers_[0].communicator = &among;
    carriers_[1].communicator = among.local_communicator;
    is_about(MPI_ANY_SOURCE, 0, MPI_DATATYPE_NULL); // an operation of the library's own has no more to tell
    persistent_ = form == Form::persistent;
    active_ = !persistent_;
    if (form_ == Form::blocking) return;
    for (Carrier &carrier : carriers_)
        if (carrier.communicator != nullptr) carrier.communicator->retain();
    // A persistent operation keeps its number: ranks initialise such operations in the same order (MPI 5.0,
    // section 6.13), but may start different ones in different orders.
    if (persistent_) rewind();
}

Schedule::~Schedule() {
    if (form_ != Form::blocking) {
        if (reduction_) Operation::release(reduction_->operation());
        for (Carrier &carrier : carriers_)
            if (carrier.communicator != nullptr) Communicator::release(*carrier.communicator);
    }
    put_back(std::move(workspace_));
}

Schedule *Schedule::make(const char *name, Communicator &communicator, Form form) {
    return pool().make(name, communicator, form);
}

void Schedule::destroy() {
    pool().destroy(this);
}

void Schedule::keep(Datatype &type) {
    if (form_ == Form::blocking || type.is_predefined()) return;
    auto &kept = workspace_->kept;
    if (!kept.empty() && kept.back() == &type) return;
    type.retain();
    kept.push_back(&type);
}

void Schedule::send(const Block &block, int peer, Scope scope, SendMode mode) {
    if (peer == MPI_PROC_NULL) return;
    keep(*block.type);
    workspace_->steps.push_back({.kind = Kind::send, .scope = scope, .peer = peer, .from = block, .mode = mode});
}

void Schedule::receive(const Block &block, int peer, Scope scope) {
    if (peer == MPI_PROC_NULL) return;
    keep(*block.type);
    workspace_->steps.push_back({Kind::receive, scope, peer, {}, block});
}

void Schedule::copy(const Block &from, const Block &to) {
    if (from.bytes() == 0) return;
    keep(*from.type);
    keep(*to.type);
    workspace_->steps.push_back({Kind::copy, Scope::peers, MPI_PROC_NULL, from, to});
}

void Schedule::fold(const void *in, void *inout, Count count) {
    if (count == 0) return;
    Block from{static_cast<char *>(const_cast<void *>(in)), count, nullptr};
    workspace_->steps.push_back({Kind::fold, Scope::peers, MPI_PROC_NULL, from, {static_cast<char *>(inout), 0}});
}

void Schedule::join(const void *a, const void *b, void *out, Count count) {
    if (count == 0) return;
    Block from{static_cast<char *>(const_cast<void *>(a)), count, nullptr};
    workspace_->steps.push_back({Kind::join, Scope::peers, MPI_PROC_NULL, from, {static_cast<char *>(out), 0}, b});
}

void Schedule::call(std::function<int()> work) {
    Step step{Kind::call};
    step.work = workspace_->work.size();
    workspace_->work.push_back(std::move(work));
    workspace_->steps.push_back(step);
}

void Schedule::end_round() {
    auto &steps = workspace_->steps;
    if (steps.empty() || steps.back().kind == Kind::end_of_round) return;
    steps.push_back({Kind::end_of_round});
}

void Schedule::reduce_by(Operation &operation, Datatype &datatype) {
    reduction_.emplace(operation, datatype);
    keep(datatype);
    if (form_ != Form::blocking && !operation.is_predefined()) operation.retain();
}

char *Schedule::temporary(Count bytes) {
    auto wanted = (static_cast<std::size_t>(bytes) + cache_line - 1) / cache_line * cache_line;
    Workspace &space = *workspace_;
    auto align = [](char *address) {
        auto number = reinterpret_cast<std::uintptr_t>(address);
        return address + (cache_line - number % cache_line) % cache_line;
    };
    space.scratch_wanted += wanted;
    if (space.scratch_used + wanted <= space.scratch_bytes) {
        char *taken = align(space.scratch.get()) + space.scratch_used;
        space.scratch_used += wanted;
        return taken;
    }
    space.temporaries.emplace_back(new char[wanted + cache_line]);
    return align(space.temporaries.back().get());
}

char *Schedule::temporary(Count count, const Datatype &type) {
    if (count == 0) return temporary(0);
    Count rest = (count - 1) * type.extent();
    Count lowest = type.true_lb() + std::min<Count>(0, rest);
    return temporary(type.true_extent() + std::max(rest, -rest)) - lowest;
}

void Schedule::rewind() {
    for (Carrier &carrier : carriers_)
        if (carrier.communicator != nullptr)
            carrier.tag = static_cast<int>(carrier.communicator->number_collective() & tag_mask);
    about_.tag = carriers_[0].tag;
}

void Schedule::note(int code) {
    if (code == MPI_SUCCESS) return;
    if (completion.error == MPI_SUCCESS) completion.error = code;
    // A message may tell of a failure before this rank has looked: then nothing else of the operation, or of the
    // operation that it is a step of, may go on with what has come.
    if (is_of_failure(error_class_of(code)) && communicator->fault == MPI_SUCCESS) failures.look();
}

/// A message could not be sent for want of memory, so that its receiver cannot go on; or a member has failed, or the
/// communicator was revoked, and nobody goes on. This rank does not, either.
bool Schedule::is_cut_short() const {
    const int error_class = error_class_of(completion.error);
    return error_class == MPI_ERR_NO_MEM || is_of_failure(error_class) || communicator->fault != MPI_SUCCESS;
}

void Schedule::begin(const Step &step) {
    const Carrier &carrier = carriers_[static_cast<std::size_t>(step.scope)];
    switch (step.kind) {
    case Kind::send:
        workspace_->pending.push_back(start_send(
            data_of(step.from), {*carrier.communicator, step.peer, carrier.tag, Traffic::collective}, step.mode));
        note(workspace_->pending.back()->completion.error);
        break;
    case Kind::receive:
        workspace_->pending.push_back(
            start_receive(data_of(step.to), {*carrier.communicator, step.peer, carrier.tag, Traffic::collective}));
        break;
    case Kind::copy: {
        Count sent = step.from.bytes(), room = step.to.bytes();
        if (sent > room)
            note(fail(MPI_ERR_TRUNCATE, "%s: this rank sends itself %lld bytes, but receives at most %lld", name_,
                      static_cast<long long>(sent), static_cast<long long>(room)));
        copy_between({&step.from.type->plan(), step.from.address, step.from.count},
                     {&step.to.type->plan(), step.to.address, step.to.count}, 0, std::min(sent, room));
        break;
    }
    case Kind::fold:
        reduction_->fold(step.from.address, step.to.address, step.from.count);
        break;
    case Kind::join:
        reduction_->join(step.from.address, step.second, step.to.address, step.from.count);
        break;
    case Kind::call: {
        // It may append steps and work, so that neither may be looked at afterwards.
        std::function<int()> work = workspace_->work[step.work];
        note(work());
        break;
    }
    case Kind::end_of_round:
        break;
    }
}

bool Schedule::begin_round() {
    auto &steps = workspace_->steps;
    if (communicator->fault != MPI_SUCCESS) note(failures.code_of(*communicator));
    if (next_ == steps.size() || is_cut_short()) return false;
    while (next_ < steps.size()) {
        const Step &step = steps[next_++];
        if (step.kind == Kind::end_of_round) break;
        begin(step);
    }
    return true;
}

bool Schedule::reap() {
    auto &pending = workspace_->pending;
    while (!pending.empty()) {
        Request *request = pending.back();
        if (!request->is_complete() && is_cut_short()) request->cancel(); // fails if it is being received
        if (!request->is_complete()) return false;
        pending.pop_back();
        note(request->finish());
        request->dispose();
    }
    return true;
}

bool Schedule::is_single_message() const {
    const auto &steps = workspace_->steps;
    if (next_ == steps.size() || steps[next_].kind > Kind::receive) return false;
    return next_ + 1 == steps.size() || steps[next_ + 1].kind == Kind::end_of_round;
}

bool Schedule::do_single_message() {
    if (!is_single_message() || is_cut_short()) return false;
    const Step &step = workspace_->steps[next_];
    const Carrier &carrier = carriers_[static_cast<std::size_t>(step.scope)];
    Address address{*carrier.communicator, step.peer, carrier.tag, Traffic::collective};
    if (step.kind == Kind::send)
        note(volley::send(data_of(step.from), address, step.mode));
    else
        note(volley::receive(data_of(step.to), address));
    next_ = std::min(next_ + 2, workspace_->steps.size());
    return true;
}

int Schedule::run() {
    rewind();
    engine.publish_collective(about_);
    for (;;) {
        if (do_single_message()) continue;
        if (!begin_round()) return completion.error;
        engine.wait_until([this] { return reap(); }, about_);
    }
}

bool Schedule::move() {
    while (reap())
        if (!begin_round()) return true;
    return false;
}

int Schedule::start() {
    if (!persistent_) rewind();
    completion = {};
    complete_ = false;
    active_ = true;
    next_ = 0;
    moving_ = true;
    bool done = move();
    moving_ = false;
    if (done)
        complete();
    else
        engine.register_hook(*this);
    return MPI_SUCCESS;
}

void Schedule::progress() {
    // Starting a message may make progress of its own, and come back here.
    if (moving_) return;
    moving_ = true;
    bool done = move();
    moving_ = false;
    if (!done) return;
    engine.remove_hook(*this);
    complete(); // May dispose of this object.
}

void Schedule::is_about(int root, Count count, MPI_Datatype datatype) {
    about_ = {.peer = root,
              .tag = about_.tag,
              .context = communicator->context(Traffic::collective),
              .count = count,
              .datatype = reinterpret_cast<std::uintptr_t>(datatype),
              .kind = WaitKind::collective};
}

} // namespace volley
