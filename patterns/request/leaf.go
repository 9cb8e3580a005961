// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/patterns"
)

// Leaf makes an Engine that of a program beside a relay. It sees one link, the
// session with its relay, and one target, the relay, which picks. Requests carry
// the route, and are asked again only in a new session of the relay, or of the
// next one: what was not written, what may be repeated, and what a draining relay
// has not looked at. What the relay has at the deadline is given up a moment later: the
// relay says then whether a handler may have run. Requests that come name who asks by their origin block.
//
// Of Config it needs Links, Clock and Exec. What it asks of Links:
//
//   - Link(Relay) is the session. Send, SendWait and SendLater fail with
//     overlay.ErrLinkDown while there is none, and with overlay.ErrClosed when
//     there won't be any more.
//   - Open has nothing to do, as the session re-attaches by itself.
//   - Subscribe's function hears LinkUp for each new session, LinkDown for each
//     that has ended, and DialFailed when nobody waits for the relay any longer:
//     what waits for a session then ends as unreachable.
//   - LinkTime and LocalTime turn times into those of the session's clock.
type Leaf struct {
	// Relay is what Links calls the other end of the session.
	Relay peer.ID
}

// graceOf is how long behind its deadline a leaf's request is not given up.
func graceOf(p patterns.Pattern) time.Duration {
	if p == patterns.PatternSurvey || p == patterns.PatternBroadcast {
		return summaryGrace
	}
	return outcomeGrace
}

// leafDirectory stands in for the Directory of a leaf: whatever is asked, the
// relay is who is asked.
type leafDirectory struct{ view *cluster.View }

func newLeafDirectory(l *Leaf) leafDirectory {
	return leafDirectory{&cluster.View{Members: []*cluster.Member{{Peer: l.Relay}}, Known: true, Told: true, Complete: true}}
}

// Watch implements Directory.
func (d leafDirectory) Watch(string) Watch { return d }

// Pick implements Directory.
func (d leafDirectory) Pick(v *cluster.View, _ cluster.PickRequest) *cluster.Member {
	return v.Members[0]
}

// Begin implements Directory.
func (d leafDirectory) Begin(*cluster.Member) {}

// Done implements Directory.
func (d leafDirectory) Done(*cluster.Member, cluster.Result) {}

// State implements Directory.
func (d leafDirectory) State(*cluster.Member) string { return "live" }

// View implements Watch.
func (d leafDirectory) View() *cluster.View { return d.view }

// Wait implements Watch.
func (d leafDirectory) Wait(context.Context, bool) (*cluster.View, error) { return d.view, nil }

// Release implements Watch.
func (d leafDirectory) Release() {}
