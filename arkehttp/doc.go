// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package arkehttp balances HTTP requests over the members of a cluster, one by
// one. Servers need no change: http.Server serves what arke.Conn.Listen returns.
//
//	l, err := server.Listen("geo")
//	go http.Serve(l, handler)
//
//	client := &http.Client{Transport: arkehttp.NewTransport(caller)}
//	resp, err := client.Get("http://geo/places?q=berlin")
//
// The host of a URL is the name of the cluster. A port is ignored.
//
// # The way of a request
//
//  1. Arke picks a member, by load, for each request: a connection carries one
//     request. Opening it costs one round trip, and no handshake.
//  2. The request and its response are HTTP/1.1 on that connection.
//  3. If the connection is lost, and the request may be handled twice, this package
//     sends it again, to another member: at most three times in all.
//
// # Who tries again
//
// Arke opens the connection. If a member is busy or can't be reached, Arke tries other
// members, within its own limits. This package never repeats that. Arke does not know
// what a program sends on an open connection, so it can't send it again. This package
// can. Its budget is 100 requests at once, and one more for each five that follow, so
// a broken service does not get twice the load.
//
// A request may be handled twice if its method is GET, HEAD, OPTIONS, TRACE, PUT
// or DELETE, or if it has the header Idempotency-Key. Its body must be one that
// can be sent again (http.Request.GetBody), as those of http.NewRequest can. A
// request that got a response is never sent again, whatever the status.
//
// Errors match those of package arke, through the *url.Error of http.Client.
//
// Goroutines: those of http.Transport, while a request is under way.
package arkehttp
