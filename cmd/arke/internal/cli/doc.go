// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: it turns arguments into calls and errors
// into one line and an exit status. It decides nothing else.
//
// # Data path
//
//  1. [App].Run finds the command and parses its flags. What makes no sense ends
//     here, before anything is sent.
//  2. The command attaches to the relay: for one answer, within a time-out that
//     attaching is part of (attachment.within; what sends a message goes through
//     App.sending), or until a signal (App.attachLogging).
//  3. It makes one call of package relay/client, and prints what comes of it.
//  4. Its error says to which cluster, topic or relay it belongs; explain makes
//     one line of it, and exitCode the status.
//
// What is served to others (relay, serve, expose, forward) goes on when nobody
// reads the output any more; every other command ends then.
//
// # Output
//
// What a command was asked for goes to standard output: bodies, a table, or
// with --json one JSON object per line. Progress and logs go to standard error,
// and so does the one line that says what went wrong and what to do next.
//
// Bodies are unchanged in a pipe. On a terminal their control characters are
// escaped, and those of subscribe and survey have the topic or the member before
// them. --raw and --raw=false choose. Names, errors and logs of other programs
// are escaped always (escaped).
//
// With --json a failure is an object on standard output, too: either the
// command's own, or one with "outcome" and "error". Outcomes are named as package
// outcome does; "accepted" is that of what went well and has no reply by nature.
// Members are "member", nodes "peer"; times are in microseconds, "us", of whole
// runs in "seconds"; a body that is no text is "body_base64". The outcome of
// arguments that make no sense is "usage".
//
// # Exit status
//
//	0  success; for request: a reply; for what goes to everybody: to all of them
//	1  anything not listed here, and wrong usage
//	2  remote error: the member's handler ran and refused, or reset the tunnel
//	3  no member serves the cluster
//	4  overloaded: every member refused
//	5  unreachable: no member, or no relay, could be reached
//	6  the deadline passed
//	7  interrupted: the member's process was lost after sending, the handler may have run
//	8  unauthorized
//	9  message too large
//	10 sim: an assertion does not hold, or a checker found something
//	11 sim: a scenario or a replay file makes no sense
//	12 sim: not possible at this level, or on this machine
//	13 sim: two runs differ
//	14 too many: tunnels, subscriptions, registrations, or clients of the relay
package cli
