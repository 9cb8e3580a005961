// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package execute does a member's work by running a shell command for each
// message or tunnel: the body, or what the caller sends, is the command's
// standard input; its standard output is the reply, or goes back through the
// tunnel.
package execute
