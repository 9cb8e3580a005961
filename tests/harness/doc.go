// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness, an inner part of Arke that makes no promise to users, runs
// the real arke binary for black-box tests: it starts, kills, pauses and
// restarts processes, waits for what they print, and shows their logs when a
// test fails.
//
// A scenario reads as a story:
//
//	net := harness.NewNetwork(t)
//	a := net.Relay("a")
//	b := net.Relay("b", harness.Seed(a))
//	b.Serves("echo", "--echo")
//	a.Requests("echo", "hello").Gets("hello")
//	b.Kill()
//	a.Requests("echo", "hello").Ends(3)
//
// The binary is built once for each test run, with the race detector if the
// test itself has it. Every process is killed when its test ends, and dies
// with the test process (on Linux). Everything stays on loopback; mDNS is off
// unless a test asks for it inside a network namespace.
//
// Sockets and data live in a folder of a short name, because the path of a
// unix socket has little more than a hundred bytes.
package harness
