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
//  3. If the request failed and no handler can have run, or it may be handled
//     twice, it goes to another member: three attempts at most, within a budget.
//
// A request may be handled twice if its method is GET, HEAD, OPTIONS, TRACE, PUT
// or DELETE, or if it has the header Idempotency-Key. Its body must be one that
// can be sent again (http.Request.GetBody), as those of http.NewRequest can. A
// response is never asked for again, whatever its status.
//
// Errors match those of package arke, through the *url.Error of http.Client.
//
// Goroutines: those of http.Transport, while a request is under way.
package arkehttp
