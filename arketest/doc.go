// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package arketest runs a program's own code on a simulated network, and injects
// failures: a process crashes, a machine falls silent, a link is cut or loses
// packets. Nodes, relays and clients are the real ones. Only the network below
// them is simulated, and time is virtual: a test of ten minutes takes seconds.
//
//	func TestGeoSurvivesACrash(t *testing.T) {
//		arketest.Run(t, func(t *testing.T, n *arketest.Network) {
//			for _, name := range []string{"geo-1", "geo-2"} {
//				n.Join(name).Serve(ctx, "geo", myHandler)
//			}
//			shop := n.Join("shop")
//			n.Crash("geo-1")
//			_, err := shop.Request(ctx, "geo", arke.Message{})
//			require.NoError(t, err)
//		})
//	}
//
// # Seeds
//
// The seed decides everything that is random, so a run with the same seed is the
// same run. With the option Seeds a test runs once for each of many seeds: each
// has other delays, other picks and another order of events. A seed that fails
// has its own subtest, which runs it again:
//
//	go test -run 'TestGeoSurvivesACrash/seed=17$'
//
// # Rules for the code under test
//
//  1. Time is that of the run: time.Now, time.Sleep and contexts work as usual.
//     There are no sockets and no other processes.
//  2. Random numbers come from a seeded source.
//  3. No mutex is held while something waits: that hangs the run.
//  4. What several goroutines do at the same instant must not depend on who is
//     first. Start them with Network.Go.
//
// Code that breaks rules 2 or 4 still runs, but a seed does not repeat the run.
//
// # Goroutines
//
// Only those of the nodes. They end with the test.
package arketest
