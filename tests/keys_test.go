// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// clusterKeys makes a file with a key of a cluster, and returns its path.
func clusterKeys(t *testing.T, cluster string) string {
	t.Helper()
	path := filepath.Join(harness.Folder(t), "cluster.key")
	harness.Run(t, "keygen", "--cluster", cluster, "--out", path).Ends(0)
	return path
}

func TestAClusterWithAKeyIsForWhoHoldsItsFile(t *testing.T) {
	// This test checks keygen --cluster and --cluster-key-file: of two relays, each
	// with programs that have one key for a name, another one, or none, each reaches
	// those with its own; and a stranger's key finds nobody, and is told what to look at.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	one, two, third := clusterKeys(t, "vault"), clusterKeys(t, "vault"), clusterKeys(t, "vault")
	a.Serves("vault", "--exec", "printf one", "--cluster-key-file", one)
	a.Serves("vault", "--exec", "printf two", "--cluster-key-file", two)
	b.Serves("vault", "--exec", "printf none")
	for _, r := range []*harness.Relay{a, b} {
		for range 3 {
			r.Requests("vault", "x", "--wait", "--cluster-key-file", one).Gets("one")
			r.Requests("vault", "x", "--wait", "--cluster-key-file", two).Gets("two")
			r.Requests("vault", "x", "--wait").Gets("none")
		}
		r.Requests("vault", "x", "--cluster-key-file", third).Ends(3).Says("vault", "your key is not theirs", "--cluster-key-file")
	}
	require.Zero(t, a.Dropped("relay.refused"))
	harness.Run(t, "request", "vault", "x", "--socket", a.Socket(), "--cluster-key-file", filepath.Join(harness.Folder(t), "none")).Ends(1).Says("--cluster-key-file", "none")
	harness.Run(t, "request", "vault", "x", "--socket", a.Socket(), "--cluster-key-file", one, "--cluster-key-file", one).Ends(1).Says("vault", "twice")
	harness.Run(t, "status", "--socket", a.Socket(), "--cluster-key-file", clusterKeys(t, "topic:prices.eu")).Ends(5).Says("refuses", "prices.eu", "first word")
}

func TestProgramsBringKeysOfTopics(t *testing.T) {
	// This test publishes and subscribes with --cluster-key-file at relays that have no key
	// of the topics, from one relay to the other and on one: who has the key hears it; who
	// has another one for the same topics, or none, hears its own and nothing else.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	one, two := clusterKeys(t, "topic:prices"), clusterKeys(t, "topic:prices")
	subscribers := map[string][]*harness.Process{}
	for _, r := range []*harness.Relay{a, b} {
		subscribers["one"] = append(subscribers["one"], r.Subscribes("prices.>", "--cluster-key-file", one))
		subscribers["two"] = append(subscribers["two"], r.Subscribes("prices.>", "--cluster-key-file", two))
		subscribers["none"] = append(subscribers["none"], r.Subscribes("prices.>"), r.Subscribes(">"))
	}
	for _, r := range []*harness.Relay{a, b} {
		r.Does("publish", "prices.eu", "of one", "--cluster-key-file", one).Ends(0)
		r.Does("publish", "prices.eu", "of two", "--cluster-key-file", two).Ends(0)
		r.Does("publish", "prices.eu", "of none").Ends(0)
	}
	for who, all := range subscribers {
		for _, s := range all {
			for _, line := range gets(t, s, 2) {
				require.Contains(t, line, "of "+who)
			}
		}
	}
	time.Sleep(time.Second)
	for who, all := range subscribers {
		for _, s := range all {
			require.Len(t, s.Printed(), 2, who)
		}
	}
}

func TestPlaintextIsInNoOtherRelaysMemory(t *testing.T) {
	// This test looks through the memory of relays: what is asked and answered in a
	// cluster with a key, and published on topics with one, the relays' or the programs'
	// own, is in that of a relay
	// which has neither key, program nor member at no time, whether it is an anchor
	// of the cluster (of three relays all are) or passes topics on. The control, a
	// message on topics without a key on the same way, is found there, and the member's
	// relay is found to have what was asked.
	scenario(t)
	network := harness.NewNetwork(t)
	vault, prices, rates := clusterKeys(t, "vault"), clusterKeys(t, "topic:prices"), clusterKeys(t, "topic:rates")
	keys := harness.Flags("--cluster-key-file", prices)
	a := network.Relay("a", keys)
	b := network.Relay("b", harness.Seed(a), keys)
	other := network.Relay("other", harness.Seed(a, b))
	harness.Together(t, a, b, other)

	sealed, control := marker("sealed"), marker("control")
	b.Serves("vault", "--echo", "--cluster-key-file", vault)
	a.Requests("vault", sealed, "--wait", "--header", "note="+sealed, "--cluster-key-file", vault).Gets(sealed)

	all := other.Subscribes(">")
	ours := b.Subscribes("prices.>")
	a.Does("publish", "prices.eu", sealed).Ends(0)
	gets(t, ours, 1)
	brought := b.Subscribes("rates.>", "--cluster-key-file", rates)
	a.Does("publish", "rates.eu", sealed, "--cluster-key-file", rates).Ends(0)
	gets(t, brought, 1)
	a.Does("publish", "news.eu", control).Ends(0)
	require.Contains(t, gets(t, all, 1)[0], control)

	found := func(r *harness.Relay, text string) bool {
		is, err := inMemory(r.PID(), text)
		if errors.Is(err, os.ErrPermission) {
			t.Skip("the memory of another process may not be read here")
		}
		require.NoError(t, err)
		return is
	}
	require.True(t, found(other, control), "the control is not found: this test could not fail")
	require.True(t, found(a, sealed) || found(b, sealed), "the ends do not have it: this test could not fail")
	require.False(t, found(other, sealed), "a relay without the key has the plaintext")
	require.Len(t, all.Printed(), 1)
}

// marker is a text that is nowhere else. Its parts are put together here, so that the
// test's own arguments do not have it.
func marker(what string) string {
	return strings.Repeat(fmt.Sprintf("%s-%x.", what, os.Getpid()*7919), 6)
}

// inMemory looks for a text in all that a process can write to.
func inMemory(pid int, text string) (bool, error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false, err
	}
	defer maps.Close()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return false, err
	}
	defer memory.Close()
	read := 0
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); n != 3 || !strings.HasPrefix(mode, "rw") {
			continue
		}
		const piece = 1 << 20
		for at := from; at < to; at += piece - int64(len(text)) {
			b := make([]byte, min(piece, to-at))
			n, _ := memory.ReadAt(b, at) // some of it can't be read
			if read += n; bytes.Contains(b[:n], []byte(text)) {
				return true, nil
			}
			if n < piece {
				break
			}
		}
	}
	if read < 1<<20 {
		return false, fmt.Errorf("only %d bytes of process %d could be read: %w", read, pid, os.ErrPermission)
	}
	return false, nil
}
