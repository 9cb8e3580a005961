// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package unixsock has unix sockets that do not wake the program each time the other
// side has read something.
//
// The Go runtime asks the kernel to tell it of everything about a socket, also that
// it can be written to. A TCP socket says so once it was full; a unix socket each
// time that its peer reads. So one thread of who sends is woken for each message,
// to find nothing. Here the socket stands in an epoll instance of its own, which asks
// for what can be read, and the runtime watches that instance. Where a write finds
// the socket full a second instance says when it is not.
package unixsock
