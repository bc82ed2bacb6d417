// SPDX-License-Identifier: BSD-3-Clause
#include "transport/fabric/endpoint.h"

#include "boot/error.h"
#include "boot/loaded_library.h"
#include "transport/node.h"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace volley {
namespace {

/// Messages of others that may arrive before this rank looks; providers keep more.
constexpr std::size_t buffers = 64;
/// Completions that are taken at a time, and how often in a row, so that other transports have their turn.
constexpr std::size_t completions = 32;
constexpr int most_rounds = 4;
/// Of the interface that is used here; libfabric serves users of earlier versions.
constexpr std::uint32_t interface_version = FI_VERSION(1, 11);

constexpr const char *file_name = "libfabric.so.1";

/// The functions that it exports; all others are found through its objects.
struct Library {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_strerror) strerror;
};

const Library &open_library() {
    static const Library library = [] {
        void *opened = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
        if (opened == nullptr)
            throw Error(std::string("the transport fabric needs libfabric, and it cannot be loaded (") + dlerror() +
                        "): install it (apt-get install libfabric1), or take another transport");
        Library found{};
        find_function(opened, file_name, "fi_getinfo", found.getinfo);
        find_function(opened, file_name, "fi_freeinfo", found.freeinfo);
        find_function(opened, file_name, "fi_dupinfo", found.dupinfo);
        find_function(opened, file_name, "fi_fabric", found.fabric);
        find_function(opened, file_name, "fi_strerror", found.strerror);
        return found;
    }();
    return library;
}

/// What `code` means; libfabric's functions return negative ones.
std::string meaning(long code) {
    return open_library().strerror(static_cast<int>(code < 0 ? -code : code));
}

void require(int code, const char *what) {
    if (code != 0) throw Error(std::string("libfabric cannot ") + what + ": " + meaning(code));
}

struct FreeInfo {
    void operator()(fi_info *info) const {
        open_library().freeinfo(info);
    }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

template <class Object> struct Close {
    void operator()(Object *object) const {
        fi_close(&object->fid);
    }
};
template <class Object> using Owner = std::unique_ptr<Object, Close<Object>>;

Info hints() {
    Info wanted(open_library().dupinfo(nullptr));
    if (!wanted) throw Error("there is no memory for libfabric");
    wanted->caps = FI_MSG | FI_TAGGED;
    wanted->mode = FI_CONTEXT | FI_CONTEXT2;
    wanted->ep_attr->type = FI_EP_RDM;
    wanted->domain_attr->threading = FI_THREAD_SAFE;
    wanted->domain_attr->resource_mgmt = FI_RM_ENABLED;
    return wanted;
}

/// What there is of that, at that address of this host if one is given.
Info ask(const fi_info &wanted, const char *address) {
    fi_info *found = nullptr;
    const std::uint64_t flags = address != nullptr ? FI_SOURCE | FI_NUMERICHOST : 0;
    if (open_library().getinfo(interface_version, address, nullptr, flags, &wanted, &found) != 0) return {};
    return Info(found);
}

bool is_named_by_user(std::string_view provider) {
    const char *named = std::getenv("FI_PROVIDER");
    return named != nullptr && std::string_view(named).find(provider) != std::string_view::npos;
}

/// The provider that libfabric likes best and that leads to other hosts, or the one that the user has named.
const fi_info *best_of(const fi_info *found) {
    for (; found != nullptr; found = found->next) {
        const std::string_view name = found->fabric_attr->prov_name;
        const bool is_of_one_host = name.find("shm") != name.npos;
        const bool is_for_tests = name.starts_with("sockets") || name.starts_with("udp");
        if ((!is_of_one_host && !is_for_tests) || is_named_by_user(name)) return found;
    }
    return nullptr;
}

bool has_network_addresses(const fi_info &info) {
    return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
}

/// The provider for TCP listens at a port of its own. In a range it takes one by chance, and fails if another process
/// has that one. So it is given one that is free: of this rank's part of the range, where others do not look first.
void allow_port(const std::string &own, const PortRange &range) {
    const auto address = parse_address(own);
    if (range.is_any() || !address || std::getenv("FI_TCP_PORT_LOW_RANGE") != nullptr) return;
    const std::uint32_t count = range.last - range.first + 1U, ranks = node.arena->ranks_here;
    const std::uint32_t part = std::max(count / ranks, 1U);
    const std::uint32_t first = range.first + static_cast<std::uint32_t>(node.rank) % ranks * part % count;
    std::uint16_t port = 0;
    try {
        const PortRange own_part{static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(first + part - 1)};
        listen_at(*address, own_part, port);
    } catch (const Error &) {
        listen_at(*address, range, port);
    }
    setenv("FI_TCP_PORT_LOW_RANGE", std::to_string(port).c_str(), 0);
    setenv("FI_TCP_PORT_HIGH_RANGE", std::to_string(port).c_str(), 0);
}

/// A provider to use. One that has addresses of the internet's kind is to use the network between the hosts.
Info choose(const std::string &own) {
    allow_port(own, node.settings.port_range);
    const Info wanted = hints();
    const Info found = ask(*wanted, nullptr);
    const fi_info *best = best_of(found.get());
    if (best == nullptr) {
        const char *named = std::getenv("FI_PROVIDER");
        throw Error(std::string("libfabric has no provider of reliable datagrams here") +
                    (named != nullptr ? std::string(" among those that FI_PROVIDER allows (") + named + ")" : "") +
                    ": the command fi_info lists what it has; or take another transport");
    }
    Info chosen(open_library().dupinfo(best));
    if (chosen && has_network_addresses(*chosen)) {
        wanted->fabric_attr->prov_name = strdup(best->fabric_attr->prov_name);
        const Info here = ask(*wanted, own.c_str());
        if (const fi_info *better = best_of(here.get())) chosen.reset(open_library().dupinfo(better));
    }
    if (!chosen) throw Error("there is no memory for libfabric");
    return chosen;
}

} // namespace

struct FabricEndpoint::Objects {
    Info info;
    Owner<fid_fabric> fabric;
    Owner<fid_domain> domain;
    Owner<fid_av> addresses;
    Owner<fid_cq> queue;
    Owner<fid_ep> endpoint;
};

/// A place where a message of any other rank may arrive.
class FabricEndpoint::Buffer final : public FabricOperation {
  public:
    Buffer(FabricEndpoint &endpoint, std::size_t bytes) : endpoint_(endpoint), bytes_(bytes) {}

    void post() {
        endpoint_.post({Kind::buffer, FI_ADDR_UNSPEC, bytes_.data(), bytes_.size(), 0, this});
    }
    void completed(std::size_t bytes) override {
        endpoint_.receiver_.arrived(bytes_.data(), bytes);
        post();
    }
    void failed(const std::string &reason) override {
        endpoint_.receiver_.failed(reason);
    }

  private:
    FabricEndpoint &endpoint_;
    std::vector<unsigned char> bytes_;
};

FabricEndpoint::FabricEndpoint(const std::string &own, std::size_t longest_message, FabricReceiver &receiver)
    : objects_(std::make_unique<Objects>()), receiver_(receiver) {
    open(own);
    for (std::size_t number = 0; number < buffers; number++) {
        buffers_.push_back(std::make_unique<Buffer>(*this, longest_message));
        buffers_.back()->post();
    }
}

FabricEndpoint::~FabricEndpoint() = default;

void FabricEndpoint::open(const std::string &own) {
    Objects &made = *objects_;
    made.info = choose(own);
    fi_info &info = *made.info;
    provider_ = info.fabric_attr->prov_name;
    fid_fabric *fabric = nullptr;
    require(open_library().fabric(info.fabric_attr, &fabric, nullptr), "open the network");
    made.fabric.reset(fabric);
    fid_domain *domain = nullptr;
    require(fi_domain(fabric, &info, &domain, nullptr), "open the network's interface");
    made.domain.reset(domain);
    fi_av_attr table{};
    table.type = info.domain_attr->av_type;
    fid_av *addresses = nullptr;
    require(fi_av_open(domain, &table, &addresses, nullptr), "make a table of addresses");
    made.addresses.reset(addresses);
    fi_cq_attr completed{};
    completed.format = FI_CQ_FORMAT_TAGGED;
    completed.wait_obj = FI_WAIT_FD;
    fid_cq *queue = nullptr;
    if (fi_cq_open(domain, &completed, &queue, nullptr) != 0) {
        completed.wait_obj = FI_WAIT_NONE; // this provider is asked again and again
        require(fi_cq_open(domain, &completed, &queue, nullptr), "make a queue of what is done");
    }
    made.queue.reset(queue);
    if (completed.wait_obj == FI_WAIT_FD && fi_control(&queue->fid, FI_GETWAIT, &descriptor_) != 0) descriptor_ = -1;
    fid_ep *endpoint = nullptr;
    require(fi_endpoint(domain, &info, &endpoint, nullptr), "make an endpoint");
    made.endpoint.reset(endpoint);
    require(fi_ep_bind(endpoint, &addresses->fid, 0), "give the endpoint its addresses");
    require(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "give the endpoint its queue");
    require(fi_enable(endpoint), "start the endpoint");
    std::size_t bytes = 0;
    fi_getname(&endpoint->fid, nullptr, &bytes); // says how long it is
    address_.resize(bytes);
    require(fi_getname(&endpoint->fid, address_.data(), &bytes), "say its address");
}

FabricAddress FabricEndpoint::find(const std::vector<unsigned char> &address) {
    FabricAddress found = FI_ADDR_NOTAVAIL;
    const int inserted = fi_av_insert(objects_->addresses.get(), address.data(), 1, &found, 0, nullptr);
    if (inserted != 1)
        throw Error("libfabric does not understand the address of another rank" +
                    (inserted < 0 ? " (" + meaning(inserted) + ")" : std::string()));
    return found;
}

void FabricEndpoint::send(FabricAddress to, const void *bytes, std::size_t count, FabricOperation &operation) {
    post({Kind::message, to, const_cast<void *>(bytes), count, 0, &operation});
}

void FabricEndpoint::send_tagged(FabricAddress to, const void *bytes, std::size_t count, std::uint64_t tag,
                                 FabricOperation &operation) {
    post({Kind::tagged_data, to, const_cast<void *>(bytes), count, tag, &operation});
}

void FabricEndpoint::receive_tagged(void *place, std::size_t count, std::uint64_t tag, FabricOperation &operation) {
    post({Kind::tagged_place, FI_ADDR_UNSPEC, place, count, tag, &operation});
}

/// In the order in which they come, also those that have to wait.
void FabricEndpoint::post(const Posting &posting) {
    posting.operation->context_.operation = posting.operation;
    if (waiting_.empty() && try_to_post(posting)) return;
    waiting_.push_back(posting);
    has_to_post_.store(true, std::memory_order_relaxed);
}

/// False if libfabric has no room now.
bool FabricEndpoint::try_to_post(const Posting &posting) {
    fid_ep *endpoint = objects_->endpoint.get();
    void *context = &posting.operation->context_;
    ssize_t code = 0;
    switch (posting.kind) {
    case Kind::message:
        code = fi_send(endpoint, posting.bytes, posting.count, nullptr, posting.to, context);
        break;
    case Kind::tagged_data:
        code = fi_tsend(endpoint, posting.bytes, posting.count, nullptr, posting.to, posting.tag, context);
        break;
    case Kind::tagged_place:
        code = fi_trecv(endpoint, posting.bytes, posting.count, nullptr, posting.to, posting.tag, 0, context);
        break;
    case Kind::buffer:
        code = fi_recv(endpoint, posting.bytes, posting.count, nullptr, posting.to, context);
        break;
    }
    if (code == -FI_EAGAIN) return false;
    if (code != 0) posting.operation->failed(meaning(code));
    return true;
}

bool FabricEndpoint::post_waiting() {
    bool moved = false;
    while (!waiting_.empty() && try_to_post(waiting_.front())) {
        waiting_.pop_front();
        moved = true;
    }
    has_to_post_.store(!waiting_.empty(), std::memory_order_relaxed);
    return moved;
}

bool FabricEndpoint::progress() {
    bool moved = !waiting_.empty() && post_waiting();
    std::array<fi_cq_tagged_entry, completions> done;
    for (int round = 0; round < most_rounds; round++) {
        const ssize_t count = fi_cq_read(objects_->queue.get(), done.data(), done.size());
        if (count == -FI_EAVAIL && take_error()) {
            moved = true;
            continue;
        }
        if (count == -FI_EAGAIN) break;
        if (count < 0) {
            receiver_.failed(meaning(count));
            break;
        }
        moved = true;
        for (const fi_cq_tagged_entry &entry : std::span(done).first(static_cast<std::size_t>(count)))
            static_cast<FabricOperation::Context *>(entry.op_context)->operation->completed(entry.len);
        if (static_cast<std::size_t>(count) < done.size()) break;
    }
    return moved;
}

/// An operation has failed.
bool FabricEndpoint::take_error() {
    fi_cq_err_entry error{};
    if (fi_cq_readerr(objects_->queue.get(), &error, 0) != 1) return false;
    if (error.err == FI_ECANCELED || error.op_context == nullptr) return true;
    static_cast<FabricOperation::Context *>(error.op_context)->operation->failed(meaning(error.err));
    return true;
}

bool FabricEndpoint::may_sleep() {
    if (descriptor_ < 0 || has_to_post_.load(std::memory_order_relaxed)) return false;
    fid *waited_for = &objects_->queue->fid;
    return fi_trywait(objects_->fabric.get(), &waited_for, 1) == FI_SUCCESS;
}

} // namespace volley
