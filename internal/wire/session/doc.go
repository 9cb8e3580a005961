// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package session is the codec of the protocol between an application and its
// relay: frames, limits, and the queue that feeds a connection. The protocol
// itself, with its byte layouts and the duties of both sides, is written down
// in package relay; this package is one implementation of its encoding.
//
// It knows no cluster, no node, and no error of package patterns, it starts no
// goroutine, and it imports the standard library and package header only, so
// that a program that attaches stays small.
//
// # Data path
//
//  1. Whoever has something to say fills in a frame type and gives it to a
//     [Sender], which encodes it behind what is queued already. Who finds no
//     room may stand in line; whoever makes room serves the line, in its order.
//  2. Sender.Run, on the writer goroutine of the connection, takes all that is
//     queued and writes it in one system call. Behind that it takes what the
//     channels of its [Rota] have, in turns: streams that must not delay others.
//  3. [Reader].Next, on the reader goroutine of the other side, cuts the stream
//     into frames; a length is judged before anything is allocated for it.
//  4. [Decode] turns a frame's body into its type. Large trailing bytes are not
//     copied: they alias the frame, which belongs to whoever read it.
//
// # Strictness
//
// Every decoder refuses bytes that are short, too many, beyond a limit, or that
// use a bit or a number this version does not define: what a frame means is
// fixed by the version that was negotiated. Only the frames of the handshake
// may be longer than this version knows, because they are read before a version
// is agreed upon. testdata/vectors.txt has an example of every frame.
package session
