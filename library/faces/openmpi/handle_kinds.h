// SPDX-License-Identifier: BSD-3-Clause
/// The handles that have numbers in Fortran, in Open MPI's interface: the word in the names of the functions that
/// convert them, and the type.
#pragma once

#define FOR_EACH_HANDLE_KIND(what)                                                                                     \
    what(Comm, MPI_Comm) what(Errhandler, MPI_Errhandler) what(File, MPI_File) what(Group, MPI_Group)                  \
        what(Info, MPI_Info) what(Message, MPI_Message) what(Op, MPI_Op) what(Request, MPI_Request)                    \
            what(Session, MPI_Session) what(Type, MPI_Datatype) what(Win, MPI_Win)
