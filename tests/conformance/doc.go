// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance, an inner part of Arke that makes no promise to users, is
// one list of promises that all six patterns keep, and that programs may rely
// on whether they embed a node or are attached to a relay.
//
// It is not where a pattern's own promises are tested: those are beside its
// code. What is here is what they have in common: that a message comes as it was
// sent, and which error says what when it can't.
//
// It uses package arke only, as users do: both kinds of programs hold a *arke.Conn.
//
//  1. A test makes a [Place]: two programs that reach each other, and a way to
//     start more.
//  2. [Verify] goes through the list with each pattern, first while nobody comes
//     or goes, then while programs leave. A face is a pattern behind two verbs,
//     receive and send, so that a check is written once.
//  3. A receiver writes down what comes, and holds it back while its gate is
//     shut: so a check decides when a handler is done.
package conformance
