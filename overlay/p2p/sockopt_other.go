// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package p2p

import manet "github.com/multiformats/go-multiaddr/net"

// setOptions is only done where we know that it helps.
func setOptions(manet.Conn) {}

// setUnsent likewise.
func setUnsent(any, int) {}
