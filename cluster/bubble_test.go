// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
)

// bubble runs a test over a fake network in virtual time.
func bubble(t *testing.T, test func(t *testing.T, f *fakeNet)) {
	synctest.Test(t, func(t *testing.T) { test(t, newFakeNet(t)) })
}

// since returns how long g takes.
func since(g func()) time.Duration {
	start := time.Now()
	g()
	return time.Since(start)
}

func settleAll() {
	synctest.Wait()
	time.Sleep(5 * time.Second)
}

func serve(t *testing.T, h *fakeHost, name string, m MemberID) {
	t.Helper()
	require.NoError(t, h.Register(t.Context(), name, Registration{Member: m, Capacity: 1, MaxMessage: 1 << 20}))
}

func ids(v *View) []MemberID {
	var out []MemberID
	for _, m := range v.Members {
		out = append(out, m.ID)
	}
	return out
}

// crowd starts n nodes.
func crowd(f *fakeNet, n int) []*fakeHost {
	var out []*fakeHost
	for i := range n {
		out = append(out, f.join(fmt.Sprintf("node%d", i)))
	}
	return out
}

// byNearness sorts nodes by their distance to name's present id.
func byNearness(hosts []*fakeHost, name string) []*fakeHost {
	byID := make(map[peer.ID]*fakeHost)
	var all []peer.ID
	for _, h := range hosts {
		byID[h.id] = h
		all = append(all, h.id)
	}
	var out []*fakeHost
	for _, p := range byDistance(testKeys(name).Epochs(time.Now())[0].ID(), all) {
		out = append(out, byID[p])
	}
	return out
}

// watchFor looks at every view until the returned function is called, which
// says whether bad was ever true.
func watchFor(t *testing.T, w *Watch, bad func(*View) bool) func() bool {
	stop, done := make(chan struct{}), make(chan bool)
	me := &waiter{id: 1 << 40, wake: make(chan struct{}, 1)}
	w.entry.addWaiter(me)
	go func() {
		defer w.entry.removeWaiter(me)
		found := false
		for {
			found = found || bad(w.View())
			select {
			case <-me.wake:
			case <-stop:
				done <- found
				return
			}
		}
	}()
	return func() bool {
		close(stop)
		return <-done
	}
}
