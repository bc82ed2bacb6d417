/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing: the library that this is compiled into only needs the face, and has the name by which programs ask for it.
 */
