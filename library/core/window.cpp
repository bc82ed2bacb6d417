// SPDX-License-Identifier: BSD-3-Clause
#include "core/window.h"

#include "core/attribute.h"
#include "core/info.h"

namespace volley {
namespace {

Pool<Window> &pool() {
    static auto *made = new Pool<Window>; // outlives static destructors
    return *made;
}

} // namespace

Window::Window(Communicator &communicator)
    : Object(kind), errors{kind, handle(), "", &Errhandler::errors_are_fatal()}, communicator_(&communicator) {
    communicator.error_target = &errors;
    set_name("");
}

void Window::set_name(std::string_view name) {
    name_ = name;
    errors.name = name.empty() ? "a window of " + std::to_string(communicator_->size()) + " ranks" : name_;
}

Window *Window::make(Communicator &communicator) {
    return pool().make(communicator);
}

void Window::destroy(Window &window) {
    forget_attributes(window);
    Errhandler::release(*window.errors.errhandler);
    if (window.info != nullptr) Info::release(*window.info);
    window.communicator_->error_target = nullptr;
    Communicator::release(*window.communicator_);
    pool().destroy(&window);
}

} // namespace volley
