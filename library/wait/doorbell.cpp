// SPDX-License-Identifier: BSD-3-Clause
#include "wait/doorbell.h"

#include "wait/descriptors.h"

namespace volley {

Doorbell &doorbell = *new Doorbell;

void DoorbellPage::ring() {
    rings.fetch_add(1, std::memory_order_seq_cst);
    if (is_asleep.load(std::memory_order_seq_cst) == 0) [[likely]]
        return;
    if (is_asleep.exchange(0, std::memory_order_seq_cst) != 0) descriptors.wake_up(wake_up_socket);
}

bool Doorbell::open(std::uint32_t wake_up_socket) {
    if (page_ != nullptr) return true;
    memory_ = SealedMemory::make("doorbell-of-process", sizeof(DoorbellPage), file_);
    if (!memory_) return false;
    page_ = reinterpret_cast<DoorbellPage *>(memory_.address());
    page_->wake_up_socket = wake_up_socket;
    descriptors.ask_doorbell(*this);
    return true;
}

bool Doorbell::announce_sleep() {
    page_->is_asleep.store(1, std::memory_order_seq_cst);
    return page_->rings.load(std::memory_order_seq_cst) == looked_at_.load(std::memory_order_relaxed);
}

} // namespace volley
