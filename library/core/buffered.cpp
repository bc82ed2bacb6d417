// SPDX-License-Identifier: BSD-3-Clause
#include "core/buffered.h"

#include "core/engine.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/session.h"
#include "layout/copy.h"

#include <cstdlib>

namespace volley {

BufferedSends *&process_buffer() {
    static BufferedSends *attached = nullptr;
    return attached;
}

namespace {

/// What a message takes of the buffer beyond its bytes. Programs leave room for the MPI_BSEND_OVERHEAD that they were
/// compiled with, which is 96 in MPICH's interface, and 128 in Open MPI's.
constexpr Count overhead_bytes = 96;
static_assert(overhead_bytes <= MPI_BSEND_OVERHEAD);

} // namespace

int BufferedSends::send(const Data &data, const Address &to) {
    collect();
    Count bytes = data.size();
    auto fits = [&] { return bytes <= bytes_ - used_ - overhead_bytes; };
    if (buffer_ != MPI_BUFFER_AUTOMATIC && !fits()) {
        engine.progress();
        collect();
        if (!fits())
            return fail(MPI_ERR_BUFFER,
                        "the attached buffer of %lld bytes has %lld in use: no room for this message of %lld bytes and "
                        "%lld more",
                        static_cast<long long>(bytes_), static_cast<long long>(used_), static_cast<long long>(bytes),
                        static_cast<long long>(overhead_bytes));
    }
    void *memory = std::malloc(static_cast<std::size_t>(bytes) + 1);
    if (!memory)
        return fail(MPI_ERR_NO_MEM, "no memory for a copy of the message of %lld bytes", static_cast<long long>(bytes));
    pack({&data.datatype->plan(), const_cast<void *>(data.address), data.count}, 0, bytes, memory);
    Request *sending = start_send(Data::bytes(memory, bytes), to);
    if (int code = sending->completion.error; code != MPI_SUCCESS) {
        sending->dispose();
        std::free(memory);
        return code;
    }
    copies_.push_back({sending, memory, bytes + overhead_bytes});
    used_ += bytes + overhead_bytes;
    return MPI_SUCCESS;
}

void BufferedSends::collect() {
    std::erase_if(copies_, [&](Copy &copy) {
        if (!copy.request->is_complete()) return false;
        copy.request->dispose();
        std::free(copy.memory);
        used_ -= copy.accounted;
        return true;
    });
}

bool BufferedSends::is_empty() {
    collect();
    return copies_.empty();
}

void BufferedSends::flush() {
    engine.wait_until([&] {
        for (Copy &copy : copies_)
            if (!copy.request->is_complete()) copy.request->attend();
        return is_empty();
    });
}

namespace {

/// Bsend takes the communicator's buffer, else that of the session it derives from, else the process's (MPI 5.0 §3.6).
BufferedSends *buffer_for(Communicator &communicator) {
    if (communicator.buffered_sends) return communicator.buffered_sends;
    if (communicator.session && communicator.session->attached) return communicator.session->attached;
    return process_buffer();
}

int send_buffered(const Data &data, const Address &to) {
    if (to.peer == MPI_PROC_NULL) return MPI_SUCCESS;
    BufferedSends *buffer = buffer_for(to.communicator);
    if (!buffer) return fail(MPI_ERR_BUFFER, "no buffer is attached for buffered sends: call MPI_Buffer_attach before");
    return buffer->send(data, to);
}

/// MPI_Bsend_init: each start is a buffered send, complete at once.
class BufferedRequest final : public Request {
  public:
    BufferedRequest(const Data &data, const Address &to) : data_(data), peer_(to.peer), tag_(to.tag) {
        persistent_ = true;
        active_ = false;
        data_.datatype->retain();
        communicator = &to.communicator;
        communicator->retain();
    }
    int start() override {
        completion = {};
        active_ = true;
        int error = send_buffered(data_, {*communicator, peer_, tag_});
        complete_ = true;
        return error;
    }
    int cancel() override {
        return MPI_SUCCESS; // gone already
    }
    const char *name() const override {
        return "MPI_Bsend_init";
    }

  private:
    ~BufferedRequest() override {
        data_.datatype->release();
        Communicator::release(*communicator);
    }

    Data data_;
    int peer_;
    int tag_;
};

/// MPI_Buffer_iflush: complete when the buffer is empty.
class FlushRequest final : public Request, public ProgressHook {
  public:
    explicit FlushRequest(BufferedSends *buffer) : buffer_(buffer) {
        progress();
        if (!is_complete()) engine.register_hook(*this);
    }
    void progress() override {
        if (buffer_ && !buffer_->is_empty()) return;
        engine.remove_hook(*this);
        complete();
    }
    const char *name() const override {
        return "MPI_Buffer_iflush";
    }

  private:
    BufferedSends *buffer_;
};

int attach(BufferedSends *&place, void *buffer, Count size) {
    if (place)
        return fail(MPI_ERR_BUFFER, "a buffer of %lld bytes is attached already: detach it first",
                    static_cast<long long>(place->bytes()));
    if (size < 0)
        return fail(MPI_ERR_ARG, "size of the buffer is %lld, which is negative", static_cast<long long>(size));
    place = new BufferedSends(buffer, size);
    return MPI_SUCCESS;
}

int detach(BufferedSends *&place, void *buffer_address, Count &size) {
    void *buffer = nullptr;
    size = 0;
    if (place) {
        place->flush();
        buffer = place->buffer();
        size = buffer == MPI_BUFFER_AUTOMATIC ? 0 : place->bytes();
        delete place;
        place = nullptr;
    }
    *static_cast<void **>(buffer_address) = buffer;
    return MPI_SUCCESS;
}

int flush(BufferedSends *buffer) {
    if (buffer) buffer->flush();
    return MPI_SUCCESS;
}

int start_flush(BufferedSends *buffer, MPI_Request *request) {
    *request = (new FlushRequest(buffer))->handle();
    return MPI_SUCCESS;
}

} // namespace

namespace mpi {

int Bsend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm) {
    return send_buffered({buf, count, &datatype}, {comm, dest, tag});
}

int Ibsend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
           MPI_Request *request) {
    if (int error = send_buffered({buf, count, &datatype}, {comm, dest, tag})) return error;
    *request = make_complete_request({})->handle();
    return MPI_SUCCESS;
}

int Bsend_init(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
               MPI_Request *request) {
    *request = (new BufferedRequest({buf, count, &datatype}, {comm, dest, tag}))->handle();
    return MPI_SUCCESS;
}

int Buffer_attach(void *buffer, Count size) {
    return attach(process_buffer(), buffer, size);
}

int Buffer_detach(void *buffer_addr, Count &size) {
    return detach(process_buffer(), buffer_addr, size);
}

int Buffer_flush() {
    return flush(process_buffer());
}

int Buffer_iflush(MPI_Request *request) {
    return start_flush(process_buffer(), request);
}

int Comm_attach_buffer(Communicator &comm, void *buffer, Count size) {
    return attach(comm.buffered_sends, buffer, size);
}

int Comm_detach_buffer(Communicator &comm, void *buffer_addr, Count &size) {
    return detach(comm.buffered_sends, buffer_addr, size);
}

int Comm_flush_buffer(Communicator &comm) {
    return flush(comm.buffered_sends);
}

int Comm_iflush_buffer(Communicator &comm, MPI_Request *request) {
    return start_flush(comm.buffered_sends, request);
}

int Session_attach_buffer(Session &session, void *buffer, Count size) {
    return attach(session.buffer->attached, buffer, size);
}

int Session_detach_buffer(Session &session, void *buffer_addr, Count &size) {
    return detach(session.buffer->attached, buffer_addr, size);
}

int Session_flush_buffer(Session &session) {
    return flush(session.buffer->attached);
}

int Session_iflush_buffer(Session &session, MPI_Request *request) {
    return start_flush(session.buffer->attached, request);
}

} // namespace mpi
} // namespace volley
