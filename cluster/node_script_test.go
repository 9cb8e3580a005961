// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/internal/wire"
)

// TestNodeScripts plays the stories in testdata/node: one node, me, is an anchor, a
// member's node or a caller of the cluster geo, and the script plays its peers A to F.
// A step prints what the node does: messages as "TO: message [the anchors of geo]", links
// that it begins to open, the acknowledgement that a member gets here, and after an
// arrow whom callers see, if that has changed. Member 5 of node B is 5@B, 5@B? if an
// anchor suspects it. An anchor that can know says that it is settled.
//
//	node knows=(PEER, …) [closest=(PEER, …)]  a node that has been up for a minute; closest = the anchors of geo
//	knows PEER …            its routing table changes; who may be an anchor is in it, me too
//	home ADDRESS PEER …     the address that the links to peers will show; of me, the one that is known
//	link PEER …             links come up
//	lost PEER               the session of a link ends
//	silent PEER             it misses heartbeats; heard PEER = it does no longer
//	unreachable PEER        a dial fails
//	after TIME              time passes
//	register MEMBER         a member of geo begins to serve here; unregister MEMBER = it stops
//	watch                   somebody here calls geo
//	PEER register MEMBER [incarnation=1]      a message from a peer, as all below
//	PEER unregister MEMBER
//	PEER watch
//	PEER grant              to the last register that it was sent; refuse = it has no room
//	PEER snapshot [LEASE …] [settled]         an anchor tells all it has; settled = it can know
//	PEER delta [+LEASE …] [-LEASE …] [settled]
//	PEER hint [leases=0]    what a co-anchor has
//	miss PEER               a delta from an anchor is lost
//	anchors                 prints whom this node takes for the anchors of geo
//	empty                   prints whether the anchor here may call geo empty
func TestNodeScripts(t *testing.T) {
	script.Run(t, "testdata/node", func() func(script.Step) []string {
		return (&nodeScript{}).obey
	})
}

type nodeScript struct {
	*rig
	told map[string]uint64 // deltas since each peer's snapshot
	seqs uint64            // of what peers ask for
	seen string            // by callers here
}

func (s *nodeScript) obey(d script.Step) []string {
	words := d.Words()
	switch d.Cmd {
	case "node":
		s.rig = newRigNear(d.T(), d.Values("closest"), d.Values("knows")...)
		s.told, s.seen = make(map[string]uint64), ""
		return s.quiet(s.after(time.Minute))
	case "knows":
		s.table = words
		return s.quiet(s.do(tableEvent{}))
	case "home":
		for _, p := range words[1:] {
			s.at[p] = "/ip4/" + words[0] + "/tcp/1"
		}
		return nil
	case "link":
		return s.quiet(s.up(words...))
	case "lost":
		return s.quiet(s.link(PeerDown, words[0]))
	case "silent":
		return s.quiet(s.link(PeerSuspect, words[0]))
	case "heard":
		return s.quiet(s.link(PeerRecovered, words[0]))
	case "unreachable":
		return s.quiet(s.link(PeerDialFailed, words[0]))
	case "after":
		return s.quiet(s.after(d.Time(0)))
	case "register":
		return s.quiet(s.joins("geo", MemberID(d.Number(0))))
	case "unregister":
		return s.quiet(s.do(unregisterEvent{"geo", MemberID(d.Number(0))}))
	case "watch":
		return s.quiet(s.looksFor("geo"))
	case "miss":
		s.told[words[0]]++
		return nil
	case "anchors":
		return []string{s.anchors("geo")}
	case "empty":
		b := s.c.anchor.books.get(s.epochOf("geo", "me").cid)
		return []string{map[bool]string{true: "yes", false: "no"}[b != nil && b.settled && len(b.leases) == 0]}
	}
	return s.quiet(s.from(d.Cmd, s.message(d, d.Cmd, words)))
}

// message is what a peer says.
func (s *nodeScript) message(d script.Step, from string, words []string) message {
	s.seqs++
	cid := s.epochOf("geo", "me").cid
	switch words[0] {
	case "register":
		return s.register("geo", from, MemberID(d.Number(1)), d.NumberOf("incarnation", 1), s.seqs)
	case "unregister":
		return &unregisterMsg{cid, MemberID(d.Number(1))}
	case "watch":
		return s.watch("geo", from, s.seqs)
	case "grant", "refuse":
		m := s.asked[from]
		if m == nil {
			d.Fail("%s was asked nothing", from)
			return nil
		}
		return &registeredMsg{
			cid: m.cid, member: m.member, seq: m.seq,
			refusal: map[string]wire.Refusal{"grant": wire.Refusal_NONE, "refuse": wire.Refusal_FULL}[words[0]],
		}
	case "snapshot":
		m := &snapshotMsg{cid: cid, seq: s.seq(from), settled: d.HasArg("settled")}
		for _, l := range words[1:] {
			if l != "settled" {
				m.leases = append(m.leases, s.leaseOf(d, l))
			}
		}
		s.told[from] = 0
		return m
	case "delta":
		s.told[from]++
		m := &deltaMsg{cid: cid, seq: s.seq(from), number: s.told[from], settled: d.HasArg("settled")}
		for _, l := range words[1:] {
			switch {
			case strings.HasPrefix(l, "+"):
				m.upserted = append(m.upserted, s.leaseOf(d, l[1:]))
			case strings.HasPrefix(l, "-"):
				gone := s.leaseOf(d, l[1:])
				m.removed = append(m.removed, leaseRef{gone.leaseKey, gone.incarnation})
			}
		}
		return m
	case "hint":
		m := &hintMsg{cid: cid, anchors: s.c.finder.sets.get(cid).anchors}
		d.MaybeScanArgs(d.T(), "leases", &m.leases)
		return m
	}
	d.Unknown()
	return nil
}

// leaseOf makes the lease of MEMBER@PEER.
func (s *nodeScript) leaseOf(d script.Step, text string) lease {
	member, on, _ := strings.Cut(strings.TrimSuffix(text, "?"), "@")
	n, err := strconv.ParseUint(member, 10, 64)
	if err != nil {
		d.Fail("no member: %v", err)
	}
	l := s.lease("geo", on, MemberID(n), 1)
	l.suspect = strings.HasSuffix(text, "?")
	return l
}

// plain shortens what says nothing here.
var plain = strings.NewReplacer("{", "", "}-", " -", "}", "", " more=false", "", " NONE", "",
	" settled=false", "", "settled=true", "settled", "want=true", "asks back", " want=false", "", " []", "")

// quiet leaves out how a node keeps links, asks the network for peers, and shows
// views, and says what callers see if it is not what they saw before.
func (s *nodeScript) quiet(lines []string) []string {
	var out []string
	for _, l := range without(without(without(lines, "hold"), "lookup"), "view") {
		out = append(out, strings.Join(strings.Fields(plain.Replace(l)), " "))
	}
	if s.c.watcher.names["geo"] != nil && s.shows() != s.seen {
		s.seen = s.shows()
		out = append(out, "-> "+s.seen)
	}
	return out
}
