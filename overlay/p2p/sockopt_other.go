// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package p2p

import (
	"net"
	"syscall"

	manet "github.com/multiformats/go-multiaddr/net"
)

// setOptions is only done where we know that it helps.
func setOptions(manet.Conn) {}

// setUnsent likewise.
func setUnsent(any, int) {}

// sift likewise: strangers are the door's affair alone.
func sift(syscall.RawConn) error { return errNoSieve }

func unsift(net.Conn) {}

// waitingLimit is how many connections may wait at the door: where nobody says how
// many files there may be, a number that every system has.
func waitingLimit() int { return 256 }
