// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
)

// insideNamespace is set for the test binary that inNamespace starts.
const insideNamespace = "ARKE_P2P_TEST_NAMESPACE"

// inNamespace runs the calling test again in a process of its own, in a new
// network namespace in which only loopback is up: nothing it sends can reach a
// real network. It returns true inside.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideNamespace) != "" {
		return true
	}
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a network namespace takes root")
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), insideNamespace+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Skipf("network namespaces are not allowed here: %v", err)
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS")
	return false
}

// ip changes the network of the namespace.
func ip(t *testing.T, args string) {
	t.Helper()
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	require.NoError(t, err, "ip %s: %s", args, out)
}

// found collects what discovery reports.
type found struct {
	mu   sync.Mutex
	seen []overlay.Candidate
}

func (f *found) add(c overlay.Candidate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, c)
}

// has says whether n was found at an address that contains text.
func (f *found) has(n *node, text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.seen {
		if c.Peer == n.Self() && c.Source == overlay.SourceLAN && strings.Contains(strings.Join(c.Addrs, " "), text) {
			return true
		}
	}
	return false
}

// TestDiscoveryOnLoopback checks that nodes find each other although the
// machine has no network but a bare loopback; that those of another network,
// and this node itself, are not reported; and that a new address is announced
// by itself.
func TestDiscoveryOnLoopback(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	ip(t, "link set lo up")
	network := p2p.NewNetwork(t)
	mdns := func(c *p2p.Config) { c.MDNS, c.Listen = true, []string{":0"} }
	a, b, stranger := start(t, network, mdns), start(t, network, mdns), start(t, p2p.NewNetwork(t), mdns)
	var byA, byB, byStranger found
	require.NoError(t, a.StartDiscovery(byA.add))
	begun := time.Now()
	require.NoError(t, stranger.StartDiscovery(byStranger.add))
	require.NoError(t, b.StartDiscovery(byB.add))
	require.Eventually(t, func() bool { return byA.has(b, "127.0.0.1") && byB.has(a, "127.0.0.1") }, waitLimit, time.Millisecond)
	t.Logf("found after %v", time.Since(begun))

	ip(t, "addr add 10.77.0.1/24 dev lo")
	require.Eventually(t, func() bool { return byA.has(b, "10.77.0.1") && byB.has(a, "10.77.0.1") }, waitLimit, 10*time.Millisecond)
	require.Empty(t, byStranger.seen)
	require.False(t, byA.has(a, "") || byA.has(stranger, ""))
	require.Zero(t, a.Counters()["mdns_invalid"])

	p, err := b.Connect(within(t), byB.seen[0])
	require.NoError(t, err)
	require.Equal(t, a.Self(), p)
}

// TestDiscoveryBeginsWhenThereIsANetwork checks that a node that is started
// without any interface is found as soon as there is one.
func TestDiscoveryBeginsWhenThereIsANetwork(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	network := p2p.NewNetwork(t)
	mdns := func(c *p2p.Config) { c.MDNS, c.Listen = true, []string{"0.0.0.0:0"} }
	a, b := start(t, network, mdns), start(t, network, mdns)
	var byA, byB found
	require.NoError(t, a.StartDiscovery(byA.add))
	require.NoError(t, b.StartDiscovery(byB.add))
	ip(t, "link set lo up")
	require.Eventually(t, func() bool { return byA.has(b, "") && byB.has(a, "") }, waitLimit, 10*time.Millisecond)
}

// TestManyConnectionsFromOneAddress checks that forty peers that connect from
// one IP address within moments are all let in, and stay. On loopback
// addresses libp2p's default limits would not apply, so this takes another.
func TestManyConnectionsFromOneAddress(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	ip(t, "link set lo up")
	ip(t, "addr add 10.77.0.1/24 dev lo")
	network := p2p.NewNetwork(t)
	hub := start(t, network, listen("10.77.0.1:0"), patient)
	var wg sync.WaitGroup
	for range 40 {
		key := p2p.NewKey(t)
		wg.Go(func() {
			c, err := p2p.Knock(within(t), key, network, hub.Addrs()[0])
			if err != nil {
				t.Errorf("not let in: %v", err)
				return
			}
			t.Cleanup(func() { c.Close() })
		})
	}
	wg.Wait()
	for range 40 {
		select {
		case e := <-hub.events:
			require.True(t, e.up)
		case <-time.After(waitLimit):
			require.FailNow(t, "somebody is missing")
		}
	}
	hub.quiet()
}
