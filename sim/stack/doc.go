// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack is level stack: whole nodes on real libp2p hosts (package
// overlay/p2p: TLS with admission, yamux, swarm, identify, kad-dht) in virtual
// time. Only the bottom is replaced: connections are between machines of this
// package instead of the kernel's.
package stack
