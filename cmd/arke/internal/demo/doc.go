// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package demo shows Arke at work on real input, with real processes, and
// checks every reply.
//
//  1. Three relays, child processes of this binary, form a network on
//     loopback with a network file that was made a moment ago.
//  2. Three member processes, each attached to its own relay, serve the
//     cluster "zones": questions about the IANA time-zone database.
//  3. This process attaches to relay 1 and asks, about every zone, and
//     compares each reply with its own computation (package zones).
//  4. After a third of the time relay 3 is killed with SIGKILL. Its member is cut
//     off.
//  5. Three seconds later it is started again with the data it had. Its
//     member attaches again by itself and serves.
//  6. A time line and a table tell what the caller saw of all that.
//
// However the demo ends, it leaves no process and no file behind.
package demo
