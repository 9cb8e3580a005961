// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	excluders   = 6 // relays that cut the guest off; the first one is told
	cutOffLimit = time.Minute
)

// exclusion measures how long it takes from the moment when one relay is told of a ban, or
// of a revocation, until each of six has no link any more with the relay that it is about.
// Each time it is another one, which serves a cluster that all six have called.
func exclusion(m *meter) {
	office := newOffice(m)
	relays := []*harness.Relay{office.relay("a", harness.Flags("--revocations", office.list))}
	for i := 1; i < excluders; i++ {
		relays = append(relays, office.relay(fmt.Sprintf("%c", 'a'+i), harness.Seed(relays[0])))
	}
	harness.Together(m, relays...)
	var callers []*client.Client
	for _, r := range relays {
		callers = append(callers, r.Client())
	}
	for _, way := range []struct {
		name string
		tell func(peer string)
	}{
		{"ban", func(p string) { harness.Run(m, "key", "ban", p, "--key-file", office.network.Key()).Ends(0) }},
		{"revocation", func(p string) { office.revoke("--peer", p) }},
	} {
		var cut []time.Duration
		for i := range m.rounds {
			guest := office.relay(fmt.Sprint(way.name, i), harness.Seed(relays[0]))
			trap := fmt.Sprint("trap-", way.name, i)
			serve(m, guest, trap)
			for _, caller := range callers {
				ctx, cancel := context.WithTimeout(context.Background(), cutOffLimit)
				_, err := caller.Request(ctx, trap, patterns.Message{}, patterns.WaitForMember())
				m.must(err)
				cancel()
			}
			way.tell(guest.Peer())
			begin := time.Now()
			relays[0].Hangup()
			cut = append(cut, cutOff(m, relays, guest.Peer(), begin)...)
			guest.Kill()
		}
		m.times(fmt.Sprintf("%s at one relay to the link cut, at each of %d", way.name, excluders), cut)
	}
}

// cutOff waits until no relay has a link with a peer, and returns how long it took at
// each of them.
func cutOff(m *meter, relays []*harness.Relay, peer string, begin time.Time) []time.Duration {
	took := make([]time.Duration, len(relays))
	var wg sync.WaitGroup
	for i, r := range relays {
		wg.Go(func() {
			for time.Since(begin) < cutOffLimit {
				s, _, err := r.Status()
				linked := slices.ContainsFunc(s.Links, func(l harness.LinkStatus) bool { return l.Peer == peer && l.State != "opening" })
				if err == nil && !linked {
					took[i] = time.Since(begin)
					return
				}
				wait(time.Millisecond)
			}
		})
	}
	wg.Wait()
	for _, d := range took {
		if d == 0 {
			m.Fatalf("%s still has a link after %v", peer, cutOffLimit)
		}
	}
	return took
}

// office is an issued network, whose authority's key is in a file.
type office struct {
	m              *meter
	network        *harness.Network
	dir, key, list string
}

func newOffice(m *meter) *office {
	o := &office{m: m, network: harness.NewNetwork(m), dir: harness.Folder(m)}
	o.key, o.list = filepath.Join(o.dir, "authority.key"), filepath.Join(o.dir, "revocations")
	said := harness.Run(m, "authority", "init", "--key-file", o.network.Key(), "--out", o.key).Ends(0).Stdout
	lines := strings.Split(strings.TrimSpace(said), "\n")
	line := lines[len(lines)-1] // optional: where certificates are required keys ban nobody
	file, err := os.ReadFile(o.network.Key())
	m.must(err)
	m.must(os.WriteFile(o.network.Key(), append(file, line+"\n"...), 0o600))
	o.revoke("--serial", "1") // so that there is a list
	return o
}

func (o *office) revoke(what ...string) {
	harness.Run(o.m, append([]string{"authority", "revoke", "--authority", o.key, "--list", o.list}, what...)...).Ends(0)
}

// relay starts a relay with a certificate that allows everything.
func (o *office) relay(name string, options ...harness.RelayOption) *harness.Relay {
	certificate := filepath.Join(o.dir, name+".cert")
	r := o.network.Prepared(name, append(options, harness.Remembering(), harness.Flags("--certificate", certificate))...)
	peer := strings.TrimSpace(harness.Run(o.m, "authority", "request", "--data-dir", harness.DataDirOf(r)).Ends(0).Stdout)
	harness.Run(o.m, "authority", "sign", "--authority", o.key, "--peer", peer, "--name", name,
		"--serve", ">", "--call", ">", "--publish", ">", "--subscribe", ">", "--out", certificate).Ends(0)
	r.Restart()
	return r
}
