// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package arke sends messages to services by name. A program says what it wants
// to talk to ("the geo service"), never which host. There is no broker and no
// registry: services find each other, requests are balanced over the members that
// are alive, and everything on the wire is encrypted.
//
// # Two ways in
//
// A program either attaches to a relay, a daemon on the same machine, or it is a
// node of the network itself. Both give a [*Conn], and the rest of the program
// does not change:
//
//	c, err := arke.Attach(ctx)                                    // beside `arke relay`
//	c, err := node.Join(ctx, node.NetworkFile("prod.arke"))       // embedded
//
// An attached program is small, holds no key, and can be written in any
// language. An embedded one needs no second process and answers faster. Package
// [github.com/arke-mesh/arke/node] has Join. A program that only attaches links
// neither libp2p's host nor the DHT.
//
// # Hello, world
//
//	c, err := arke.Attach(ctx)
//	…
//	defer c.Shutdown(ctx)
//	c.Serve(ctx, "greeter", arke.HandlerFunc(func(ctx context.Context, r *arke.Request) (arke.Message, error) {
//		return arke.Message{Body: append([]byte("hello, "), r.Body...)}, nil
//	}))
//	reply, err := c.Request(ctx, "greeter", arke.Message{Body: []byte("world")})
//
// # Words
//
//	cluster   a service's name. It is the unit of addressing, balancing and security
//	member    one registered handler of a cluster; a program may have many
//	topic     what is published: words joined by dots, such as weather.berlin
//	tunnel    an ordered stream of messages to one member
//	node      one participant of the network: a relay, or a program that embeds one
//	relay     the daemon to which programs on the same machine attach
//
// # What to use
//
//	you want to                          method        goes to                      promise
//	ask, and get one answer              Request       one member                   exactly one outcome, at the latest 5 ms
//	                                                                                after the deadline (default 5 s)
//	ask all members                      Survey        every member                 the replies, and the missing members
//	hand work over                       Push          one member                   a member's queue has it, or an error
//	tell all members                     Broadcast     every member                 at most once each; counts the members
//	                                                                                that accepted it
//	tell all subscribers                 Publish       every matching subscription  in order for each publisher and topic;
//	                                                                                a gap reports how many are missing
//	exchange many messages               OpenTunnel    one member                   in order; a slow reader slows the writer
//	use HTTP, gRPC or a protocol of      Listen, Dial  one member                   a net.Conn
//	your own
//
// [Conn.Members] lists the members of a cluster, and [Conn.Watch] follows changes.
//
// Everything is delivered at most once. Nothing is dropped silently: every drop
// has a name and a counter and, for requests, an answer.
//
// # Outcomes
//
// Each request has exactly one outcome. What to do next depends on one question:
// can a handler have run? [MaybeRan] answers it.
//
//	Request ──► is there a member? ─no──► ErrNoMembers          ─┐
//	                │ yes                                        │
//	                ▼                                            │
//	        can one be reached? ────no──► ErrUnreachable         ├─ no handler ran:
//	                │ yes                                        │  it is safe to ask again
//	                ▼                                            │
//	        does its queue have room? no► ErrOverloaded,         │
//	                │ yes                 ErrTooLarge,           │
//	                │                     ErrUnauthorized       ─┘
//	                ▼
//	        ╔═ the handler runs ═╗
//	        ║                    ╟─ its process is lost ──► ErrInterrupted     ─┐ a handler may have run:
//	        ║                    ╟─ the time is over ─────► *DeadlineError     ─┘ ask again only if that
//	        ╚══════╤═════════════╝                                                does no harm
//	               ├─ it returns an error ────────────────► *RemoteError       the handler refused
//	               └─ it returns a message ───────────────► nil                a reply
//
// Arke retries if that is safe: at other members, at most three attempts in all,
// within a budget. With the option [Idempotent] it also retries after
// ErrInterrupted. The whole table:
//
//	outcome                             error                     did a handler run?         does Arke ask again?
//	reply                               nil                       yes                        –
//	the handler refused                 *RemoteError              yes                        no
//	no member                           ErrNoMembers              no                         it waits, with WaitForMember
//	all busy                            ErrOverloaded             no                         yes
//	none could be reached               ErrUnreachable            no                         yes
//	the process was lost after sending  ErrInterrupted            maybe                      if Idempotent
//	deadline, cancelled                 *DeadlineError; matches   maybe; MaybeRan says       no
//	                                    context.DeadlineExceeded
//	                                    or context.Canceled
//	no right to ask                     ErrUnauthorized           no                         no
//	too large                           ErrTooLarge               no                         no
//	too many tunnels, subscriptions,    ErrTooMany                no                         no
//	registrations or clients
//	the Conn is closed                  ErrClosed                 no                         no
//
// A cluster may have keys of its own (see [ClusterKeyFile]). A caller with different
// keys, or none, gets ErrNoMembers: to Arke that is a different cluster. A member that
// recognises the caller but refuses it returns ErrUnauthorized: the caller's key was
// replaced since it found the member, or the message must be sealed and is not. A relay
// returns it when its policy denies the call.
//
// # Options
//
// Methods take options as functions: c.Serve(ctx, "geo", h, arke.Concurrency(8)).
// Each option documents its default. If two set the same thing, the last one wins.
//
// # HTTP and gRPC
//
// [Conn.Listen] and [Conn.Dial] give the interfaces of package net, so servers and
// clients need no change. Package arkehttp balances HTTP requests one by one;
// the module arkegrpc does the same for gRPC calls. [Handle] and [Call] exchange
// Go values as JSON or protobuf, without either.
//
// # Tests
//
// Package arketest runs a program's own handlers on a simulated network, in
// virtual time, and injects failures.
//
// # What is stable
//
// This package, node, arkehttp, arkegrpc and arketest are for programs. All other
// packages are Arke's inside: they make no promise to programs, say so in their
// first sentence or are in internal folders, and change without notice.
// Nothing has been released yet. Until version 1 this package may change, too. The
// changelog says how.
//
// # Why these types are not aliases
//
// The layers below have types of their own for messages, options and errors.
// Aliases of them would show a reader of this page names without fields and
// methods, and would bind users to packages that are meant to change. The types
// cannot live here and be used below either, as Attach needs those layers. So this
// package has its own, and turns one into the other where they meet: bodies are
// shared, headers are copied, and the errors without fields are the same values.
package arke
