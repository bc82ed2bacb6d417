// SPDX-License-Identifier: BSD-3-Clause
/// Attributes: what programs attach to communicators, datatypes and windows under keys of their own (MPI 5.0,
/// section 7.7).
#pragma once

#include "core/callbacks.h"

namespace volley {

class Communicator;
class Datatype;
class Window;

/// Asks the copy callbacks for each attribute of `from`, and attaches what they give to `to`, which is new. The
/// code of a callback that fails; the attributes copied by then stay.
int copy_attributes(Communicator &from, Communicator &to);
int copy_attributes(Datatype &from, Datatype &to);

/// Calls the delete callbacks, last attribute first, and detaches all. The first code of a callback that failed.
int delete_attributes(Communicator &communicator);
int delete_attributes(Window &window);

/// Frees what there is for the attributes of a window that has none any more.
void forget_attributes(Window &window);

/// Gives a reference back, and returns what delete callbacks returned if it was the last.
int release_with_attributes(Datatype &datatype);

/// Names the callers of the functions of a key that was just made.
void call_keyval_by(int keyval, CopyAttributeCaller copy, DeleteAttributeCaller remove);

} // namespace volley
