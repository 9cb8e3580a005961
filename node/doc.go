// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package node makes a program a node of an Arke network. The program serves and
// calls like an attached program, and needs no relay.
//
//	c, err := node.Join(ctx, node.NetworkFile("prod.arke"))
//
// Join returns the same *arke.Conn as arke.Attach does. Package arke documents
// what to do with it. A program that only attaches does not import this package,
// so that it links neither libp2p's host nor the DHT.
//
// # The network's file
//
// Whoever holds the file of a network can join it. The command `arke keygen`
// makes one, and so does NewNetwork. Keep it as secret as a password.
//
// # How nodes find each other
//
// On one local network they need no configuration: multicast DNS is on unless
// NoMDNS says otherwise. Elsewhere Seeds names one or two nodes that run. With
// DataDir a node remembers the others, and is the same node after a restart. A
// network of one node is a network, too.
//
// # What a node costs
//
// A node also routes for others, and keeps a part of the directory of who serves
// what. Handlers run on at most 32,768 goroutines at once.
package node
