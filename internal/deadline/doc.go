// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package deadline holds the deadline of a stream or of a net.Conn: a time that
// can be moved while somebody waits for it. It is on the machine's clock, as the
// times are that a net.Conn is given.
//
// A timer runs while a deadline is set.
package deadline
