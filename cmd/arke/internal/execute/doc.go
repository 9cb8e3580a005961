// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package execute does a member's work by running a shell command for each
// message or tunnel: the body, or what the caller sends, is the command's
// standard input; its standard output is the reply, or goes back through the
// tunnel. It knows nothing of relays, and keeps nothing between two commands.
//
//  1. [Handler] starts "sh -c", on unix in a process group of its own, so that what the command starts can be ended with it.
//  2. The body is its standard input, or each message of the tunnel is, as it
//     comes; what the command does not want to read is thrown away.
//  3. Its standard output, at most MaxReply bytes, is the reply; or each read of
//     it, at most 32 KiB, is one message of the tunnel.
//  4. Its environment is a short list of ours and what it is told of the message
//     (environment.go). It never has the network's key or a token.
//  5. Status 0 is success. Any other is a remote error, or a reset, with the
//     beginning of standard error as its text.
//
// When the context ends, or the tunnel, the command is killed, with its group.
// Goroutines: one for each tunnel, beside those of package os/exec; all have
// ended when the method returns.
package execute
