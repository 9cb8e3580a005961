// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package arkegrpc balances gRPC calls over the members of a cluster, one by one.
// Servers need no change: grpc.Server serves what arke.Conn.Listen returns.
//
//	l, err := server.Listen("geo")
//	go grpcServer.Serve(l)
//
//	cc, err := grpc.NewClient("arke:///geo", arkegrpc.DialOptions(caller)...)
//
// It is a module of its own, so that package arke does not depend on gRPC.
//
// # The way of a call
//
//  1. A resolver watches who the members of the cluster are (arke.Conn.Watch).
//  2. gRPC keeps one connection to each member.
//  3. A balancer takes, for each call, the better of two random connections: the
//     one with fewer calls under way.
//
// Nobody there is codes.Unavailable, and so is a connection that is lost; what
// gRPC itself tries again is up to its retry policy. Connections are encrypted by
// Arke, so gRPC's own credentials are those of package insecure.
//
// Goroutines: one for each grpc.ClientConn, which ends with it.
package arkegrpc
