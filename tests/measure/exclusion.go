// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
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
	office := harness.NewOffice(m, "optional") // where certificates are required keys ban nobody
	all := []string{"--serve", ">", "--call", ">", "--publish", ">", "--subscribe", ">"}
	list := office.File("revocations")
	office.Does("revoke", "--list", list, "--serial", "1") // so that there is a list
	relays := []*harness.Relay{office.Certified("a", all, harness.Flags("--revocations", list))}
	for i := 1; i < excluders; i++ {
		relays = append(relays, office.Certified(fmt.Sprintf("%c", 'a'+i), all, harness.Seed(relays[0])))
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
		{"ban", func(p string) { harness.Run(m, "key", "ban", p, "--key-file", office.Key()).Ends(0) }},
		{"revocation", func(p string) { office.Does("revoke", "--list", list, "--peer", p) }},
	} {
		var cut []time.Duration
		for i := range m.rounds {
			guest := office.Certified(fmt.Sprint(way.name, i), all, harness.Seed(relays[0]))
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
