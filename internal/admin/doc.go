// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package admin is the address at which people and tools watch a relay: HTTP, with
//
//	/metrics      for Prometheus
//	/healthz      200 while the relay runs, also while it drains
//	/readyz       200 when it has joined and settled, or is alone by configuration; else 503 and the reason
//	/status.json  what arke status --json prints
//	/log-level    GET and PUT {"level":"debug"}: the log level, until the next start or reload
//	/debug/pprof/ profiles of the process
//
// It changes nothing but the log level, and shows no key and no message.
//
// # Who may ask
//
// On a loopback address every user of the machine may; requests must name a
// loopback host, so that no web page reaches it through a browser by a name of its
// own. On any other address a bearer token is required, and a Server without one
// does not start: what travels is not encrypted, so that address belongs into a
// network that is trusted. A unix socket ("unix:/path") has mode 0600: it is for
// the relay's own user and root, and needs no token.
//
// # Data path
//
//  1. net/http reads a request within a time-out; at most 64 connections are
//     served at once.
//  2. The guard looks at host and token.
//  3. A handler answers. /metrics answers one at a time, and refuses the others: a
//     scrape costs time and memory that grow with the number of clusters.
//
// One goroutine accepts, and net/http has one for each connection; Close waits for
// the first and ends the others.
package admin
