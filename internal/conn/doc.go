// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package conn makes a tunnel a net.Conn, for programs that speak a protocol of
// their own over a stream of bytes. It works with every patterns.Tunnel, of a
// node or of a client, and links neither.
//
// It is not for messages: their borders are lost. Both sides should use it; the
// other one may as well send messages that Receive takes (1 MiB by default), and
// gets what was written in messages of at most 64 KiB.
//
// # The way of a byte
//
//  1. Write cuts what it is given into messages of 64 KiB at most and sends
//     them, waiting for credit.
//  2. Read returns from the message that came last, and receives the next one
//     when that is used up.
//
// # Errors
//
// Those of the tunnel come as they are: io.EOF after the other side's
// CloseWrite or Close, *patterns.TunnelError after a reset,
// patterns.ErrInterrupted when the other node was lost. A deadline is
// os.ErrDeadlineExceeded; of a Write that it ended, as many bytes were sent as
// Write returns, and the connection can be used on. After Close everything is
// net.ErrClosed.
//
// # Goroutines
//
// None. A timer runs while a deadline is set.
package conn
