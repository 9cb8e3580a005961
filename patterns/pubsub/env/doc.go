// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package env, an inner part of Arke that makes no promise to users, is what the parts of
// topics have in common: what an Engine is given (Config), the small interfaces through which it sees links and clusters (network.go),
// times and limits (protocol.go), the names of groups, nodes and queues on the wire
// (interests.go), the keys of a group (keys.go), counts and reasons of drops, and one
// Base that holds all of it for a node.
//
// It decides nothing about a message, and knows neither who listens (package fanout) nor
// who published (package pubsub). Package pubsub has the words and the guarantees.
//
// A Base has no goroutine of its own. After and Work run what they are given on the
// clock's and the Exec's; Close ends the run context, and whoever owns the Base waits
// for WG. All methods may be called concurrently.
package env
