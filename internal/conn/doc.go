// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package conn makes a tunnel a net.Conn, for programs that speak a protocol of
// their own over a stream of bytes. It works with the tunnels of a node and of a
// client, and links neither.
//
// It is not for messages: their borders are lost. Both sides should use it. If the
// other side sends messages instead, they may have any size, and what is written
// here arrives there in messages of at most 64 KiB.
//
// # The way of a byte
//
//  1. Write cuts what it is given into messages of 64 KiB at most and sends
//     them, waiting for credit.
//  2. Read copies from the first message that came. What it leaves stays in the
//     tunnel, so Close knows that it was not read.
//
// # Errors
//
// Those of the tunnel come as they are. Read returns io.EOF after the last byte that
// the other side wrote before its CloseWrite or Close. If that Close dropped bytes that
// were written here, and no CloseWrite came before, Read returns patterns.ErrUnread
// instead. Write returns patterns.ErrPeerClosed after the other side's Close. Both
// return *patterns.TunnelError after a reset, and patterns.ErrInterrupted when the other
// node was lost. A deadline is
// os.ErrDeadlineExceeded; of a Write that it ended, as many bytes were sent as
// Write returns, and the connection can be used on. After Close everything is
// net.ErrClosed.
//
// # Goroutines
//
// None. A timer runs while a deadline is set.
package conn
