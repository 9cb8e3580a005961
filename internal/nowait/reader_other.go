// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package nowait

import "net"

// Reader is none here.
type Reader struct{}

// NewReader returns nil: c's own Read is as good.
func NewReader(net.Conn, *Calls) *Reader { return nil }

// Read reads nothing.
func (*Reader) Read([]byte) (int, error) { return 0, net.ErrClosed }
