// SPDX-License-Identifier: BSD-3-Clause
/// Access to memory that this rank does not reach: requests to the target, by messages of the window's communicator.
///
/// A target serves requests whenever it makes progress, in whatever function of MPI. Requests from one rank are served
/// in order. Data travel in pieces, copied when the function is called, so that the origin's buffer is free at once;
/// where data or an answer come back, they come in order too. So one request that is answered shows that all before it
/// have been served: that is a flush.
#pragma once

#include "core/engine.h"
#include "core/point_to_point.h"
#include "window/accumulate.h"
#include "window/state.h"

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace volley {

enum class RequestKind : std::uint32_t {
    plan, ///< a part of the plan of a target's datatype
    put,
    get,
    accumulate,
    get_accumulate,
    compare_and_swap,
    flush,
    lock_shared,
    lock_exclusive,
    unlock_shared,
    unlock_exclusive,
    post,
    complete,
    data, ///< an answer: what get, get_accumulate or compare_and_swap bring
    done, ///< an answer: to a flush, a lock or an unlock
};

/// What every message begins with. Data follow.
struct RequestHeader {
    RequestKind kind;
    std::uint32_t plan;      ///< number, among the origin's, of how the target's data lie; 0: in one block
    std::uint32_t last;      ///< 1: no further request has this plan
    std::uint32_t operation; ///< handle
    std::uint32_t element;   ///< handle of the predefined datatype of all elements
    std::uint64_t number;    ///< of the origin's operation that waits for data
    std::uint64_t address;   ///< of the target's data
    Count count;             ///< of elements there; of a plan: its bytes
    Count from, to;          ///< packed bytes of the data, or bytes of the plan
};

/// The buffer at the origin that data are for. The datatype is retained.
struct ResultBuffer {
    const void *address;
    Count count;
    Datatype *datatype;
};

class RemoteAccess final : private ProgressHook {
  public:
    explicit RemoteAccess(Window &window);
    ~RemoteAccess();

    // `data` is the target's; the other buffer has as many bytes. Where data come back, they are there after a flush;
    // or when the request that is made is complete, unless `request` is nullptr.
    void put(int rank, const TypedBuffer &data, const TypedBuffer &source, Count bytes);
    void get(int rank, const TypedBuffer &data, const ResultBuffer &result, Count bytes, Request **request);
    void accumulate(int rank, const Accumulation &accumulation, const ResultBuffer *result, Count bytes,
                    Request **request);
    void compare_and_swap(int rank, char *address, Datatype &element, const void *compare, const void *value,
                          const ResultBuffer &result);

    /// Waits until all that was asked of the target has been done there, and has brought what it brings.
    void flush(int rank);
    void flush_all();

    /// Sends a request without data, and goes on.
    void notify(int rank, RequestKind kind);
    /// Sends a request that will be answered. wait_for_answers() waits for all of them.
    void ask(int rank, RequestKind kind);
    void wait_for_answers(int rank);

    /// Before the window is freed, when nobody has a request any more.
    void close();

  private:
    struct Message;
    struct Pending;
    struct LockRequest {
        int origin;
        std::uint32_t ticket;
        bool exclusive;
    };

    void progress() override;

    // As an origin.
    Message &begin(const RequestHeader &header);
    void send(int rank, Message &message);
    RequestHeader describe(int rank, RequestKind kind, const TypedBuffer &data);
    std::uint64_t expect(const ResultBuffer &result, Count bytes, Request **request);
    void wait_for_room();
    template <class SendPiece> void in_pieces(RequestHeader &header, Count bytes, Count step, SendPiece &&send_piece);
    void retire_sent();
    void take_data(const RequestHeader &header, const char *data);

    // As a target.
    void serve(int origin, const RequestHeader &header, const char *data);
    TypedBuffer target_data(int origin, const RequestHeader &header);
    void serve_plan(int origin, const RequestHeader &header, const char *data);
    void serve_accumulate(int origin, const RequestHeader &header, const char *data);
    void serve_compare_and_swap(int origin, const RequestHeader &header, const char *data);
    void serve_lock(int origin, bool exclusive);
    void serve_unlock(int origin, bool exclusive);
    bool grant(const LockRequest &request);
    Message &begin_answer(const RequestHeader &request, Count bytes);

    Window &window_;
    WindowState &state_;
    Communicator &communicator_;
    WindowTarget &own_;
    std::unique_ptr<char[]> inbound_;
    Request *receipt_ = nullptr;
    std::vector<std::unique_ptr<Message>> free_, sent_;
    std::unordered_map<std::uint64_t, Pending> pending_;
    std::uint64_t last_number_ = 0;
    Count expected_ = 0; ///< bytes of data under way to this rank
    int answers_ = 0;    ///< still to come
    std::uint32_t last_plan_ = 0;
    std::map<std::pair<int, std::uint32_t>, std::vector<std::uint64_t>> plans_; ///< of others, by origin and number
    std::vector<LockRequest> waiting_;                                          ///< in the order of their coming
};

} // namespace volley
