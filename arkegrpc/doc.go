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
// A call fails with codes.Unavailable if the cluster has no member, or if the
// connection is lost. gRPC's retry policy says what gRPC tries again. Arke encrypts
// the connections, so gRPC's own credentials are those of package insecure.
//
// Goroutines: one for each grpc.ClientConn, which ends with it.
package arkegrpc
