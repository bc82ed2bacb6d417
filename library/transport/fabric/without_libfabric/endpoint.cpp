// SPDX-License-Identifier: BSD-3-Clause
/// In place of transport/fabric/endpoint.cpp where the headers of libfabric were missing.
#include "transport/fabric/endpoint.h"
#include "boot/error.h"

namespace volley {

struct FabricEndpoint::Objects {};
class FabricEndpoint::Buffer {};

FabricEndpoint::FabricEndpoint(const std::string &, std::size_t, FabricReceiver &receiver) : receiver_(receiver) {
    throw Error("this library was built without libfabric, which the transport fabric needs: install its headers "
                "(apt-get install libfabric-dev) and build it again, or take another transport");
}
FabricEndpoint::~FabricEndpoint() = default;
FabricAddress FabricEndpoint::find(const std::vector<unsigned char> &) {
    return 0;
}
void FabricEndpoint::send(FabricAddress, const void *, std::size_t, FabricOperation &) {}
void FabricEndpoint::send_tagged(FabricAddress, const void *, std::size_t, std::uint64_t, FabricOperation &) {}
void FabricEndpoint::receive_tagged(void *, std::size_t, std::uint64_t, FabricOperation &) {}
bool FabricEndpoint::progress() {
    return false;
}
bool FabricEndpoint::may_sleep() {
    return true;
}

} // namespace volley
