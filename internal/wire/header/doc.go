// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package header is the encoding of the headers that travel beside a body. It
// is the same between two nodes and between a relay and its client, so that
// what fits on one way fits on the other.
//
//		u16 count, then for each header: u8 length, key, u16 length, value
//
//	 1. Whoever takes headers from a program calls [Check], and refuses them or
//	    lets a codec [Append] them to its frame.
//	 2. The other side's codec calls [Decode], which judges all lengths before it
//	    allocates anything, and gives strings that share one allocation.
//	 3. [Convert] gives them the name of the type that the program knows.
//
// Numbers are big-endian. It has no state, starts no goroutine, and imports the
// standard library only.
package header
