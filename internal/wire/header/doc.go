// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package header is the encoding of the headers that travel beside a body. It
// is the same between two nodes and between a relay and its client, so that
// what fits on one way fits on the other.
//
// A count in two bytes goes before them. Each is the length of its key in one
// byte, the key, the length of its value in two bytes, the value. Numbers are
// big-endian.
//
//  1. Whoever takes headers from a program calls [Check], and refuses them or
//     lets a codec [Append] them to its frame.
//  2. The other side's codec calls [Decode], which judges all lengths before it
//     allocates anything, and gives strings that share one allocation.
//  3. [Convert] gives them the name of the type that the program knows.
//
// It has no state, starts no goroutine, and imports the standard library only.
package header
