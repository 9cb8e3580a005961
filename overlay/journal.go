// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/nodename"
	"github.com/arke-mesh/arke/overlay/session"
)

const (
	// maxKnown is how many peers the journal remembers, to tell who is new from
	// who is back.
	maxKnown = 1024
	// In so much time the log has so many lines about peers that come and go; one
	// more line counts the others.
	peerLinesTime = 10 * time.Second
	maxPeerLines  = 20
	// awayShown is how long a peer was not heard for the log to say that it is back,
	// though its session went on. Shorter ones are what sessions are for.
	awayShown = 2 * time.Second
	// maxSeedsNamed is how many seeds an error names.
	maxSeedsNamed = 3
)

// journal decides what the log says of seeds and peers. Pure core.
type journal struct {
	self  peer.ID
	seeds []*seed

	connected map[peer.ID]bool
	met       bool    // somebody was, once
	joined    bool    // somebody is, or was and the log has not said that nobody is left
	first     peer.ID // is connected, and the log has not said how that came

	// Who was dialled last with success since nobody was left, and how it became known.
	dialledLast peer.ID
	dialledHow  string

	known map[peer.ID]*peerRecord

	windowEnd time.Time
	lines     int // about peers, in this window
	withheld  int
}

// peerRecord is a peer that had a link.
type peerRecord struct {
	name    string
	lost    time.Time // zero = there is a link, or it ended in order
	suspect time.Time // zero = it is heard
}

// namedPeer is a peer as the log has it.
type namedPeer struct {
	id   peer.ID
	name string // "" = it has none, or has not said it yet
}

// String implements fmt.Stringer.
func (n namedPeer) String() string { return nodename.Of(n.name, n.id.String()) }

// named returns the peer with the name that it had last.
func (j *journal) named(p peer.ID) namedPeer {
	if known := j.known[p]; known != nil {
		return namedPeer{p, known.name}
	}
	return namedPeer{id: p}
}

// logLine is one line of the log.
type logLine struct {
	warn   bool
	text   string
	fields []any // name and value in turn
}

func info(text string, fields ...any) logLine { return logLine{text: text, fields: fields} }
func warn(text string, fields ...any) logLine { return logLine{warn: true, text: text, fields: fields} }

func newJournal(self peer.ID) *journal {
	return &journal{self: self, connected: make(map[peer.ID]bool), known: make(map[peer.ID]*peerRecord)}
}

// reseed is told the seeds. Those that stay are as they were.
func (j *journal) reseed(now time.Time, addrs []string) {
	before := j.seeds
	j.seeds = nil
	for _, a := range addrs {
		next := &seed{addr: a, state: SeedTrying, since: now}
		if i := slices.IndexFunc(before, func(s *seed) bool { return s.addr == a }); i >= 0 {
			next = before[i]
		}
		j.seeds = append(j.seeds, next)
	}
}

// dialled takes in how the dial of a candidate ended, and whether another one is
// under way.
func (j *journal) dialled(now time.Time, c Candidate, p peer.ID, err error, others bool) (news []logLine) {
	if c.Source == SourceSeed {
		for _, s := range j.seeds {
			if slices.Contains(c.Addrs, s.addr) {
				news = append(news, s.dialled(now, j.self, j.named(p), err)...)
			}
		}
	}
	if err == nil && p != j.self {
		j.dialledLast, j.dialledHow = p, j.how(c) // up may come after it
	}
	switch {
	case err == nil && p != j.self && j.first == p:
		return append(news, j.join(p, j.how(c))...)
	case !others && j.first != "":
		return append(news, j.join(j.first, "it called")...)
	}
	return news
}

// how says how a candidate became known.
func (j *journal) how(c Candidate) string {
	switch c.Source {
	case SourceSeed:
		for _, s := range j.seeds {
			if slices.Contains(c.Addrs, s.addr) {
				return "seed " + s.addr
			}
		}
	case SourceLAN:
		return "found on the local network"
	case SourceRemembered:
		return "remembered from an earlier run"
	}
	return "a peer named it"
}

func (j *journal) join(p peer.ID, how string) []logLine {
	j.first = ""
	return []logLine{info("joined the network", "peer", j.named(p), "id", p, "how", how)}
}

// up notes the first connection with a peer. dialling says that dials are under way,
// whose ends tell how it came.
func (j *journal) up(p peer.ID, dialling bool) []logLine {
	j.connected[p], j.met = true, true
	if j.joined {
		return nil
	}
	j.joined = true
	if j.dialledLast == p {
		return j.join(p, j.dialledHow)
	}
	if dialling {
		j.first = p
		return nil
	}
	return j.join(p, "it called")
}

// down notes the end of the last connection with a peer.
func (j *journal) down(now time.Time, p peer.ID) []logLine {
	delete(j.connected, p)
	for _, s := range j.seeds {
		s.lost(now, p)
	}
	if len(j.connected) > 0 || !j.joined {
		return nil
	}
	j.joined, j.first, j.dialledLast = false, "", ""
	return []logLine{warn("no peer is left: this node is alone", "last", j.named(p))}
}

// look speaks of seeds that are out of reach for too long.
func (j *journal) look(now time.Time) (news []logLine) {
	for _, s := range j.seeds {
		news = append(news, s.look(now)...)
	}
	return news
}

// linkUp notes a link with a peer.
func (j *journal) linkUp(now time.Time, p peer.ID, name string) []logLine {
	known := j.known[p]
	if known == nil {
		if len(j.known) >= maxKnown {
			return nil
		}
		j.known[p] = &peerRecord{name: name}
		return j.limited(now, info("peer joined", "peer", j.named(p), "id", p))
	}
	lost := known.lost
	*known = peerRecord{name: name}
	if lost.IsZero() {
		return nil // it left in order, and came again
	}
	return j.limited(now, info("peer is back", "peer", j.named(p), "after", now.Sub(lost).Round(time.Millisecond)))
}

// linkDown notes that a link has ended, and why.
func (j *journal) linkDown(now time.Time, p peer.ID, cause error) []logLine {
	known := j.known[p]
	if known == nil {
		return nil
	}
	if errors.Is(cause, ErrSpare) {
		return nil // it is there, and may come again at any time
	}
	if errors.Is(cause, ErrGoodbye) {
		reason := "goodbye"
		var words *session.GoodbyeError
		if errors.As(cause, &words) {
			reason = words.Reason
		}
		return j.limited(now, info("peer left", "peer", j.named(p), "reason", reason))
	}
	known.lost, known.suspect = now, time.Time{}
	return j.limited(now, info("peer lost", "peer", j.named(p), "reason", lossReason(cause)))
}

// linkSuspect notes that a peer is not heard.
func (j *journal) linkSuspect(now time.Time, p peer.ID) {
	if known := j.known[p]; known != nil && known.suspect.IsZero() {
		known.suspect = now
	}
}

// linkRecovered notes that a peer is heard again, at this address, in the same session.
func (j *journal) linkRecovered(now time.Time, p peer.ID, addr string) []logLine {
	known := j.known[p]
	if known == nil || known.suspect.IsZero() {
		return nil
	}
	away := now.Sub(known.suspect)
	if known.suspect = (time.Time{}); away < awayShown {
		return nil
	}
	return j.limited(now, info("peer was not heard, and is back", "peer", j.named(p), "after", away.Round(time.Millisecond), "addr", addr))
}

// lossReason says why a link was lost.
func lossReason(cause error) string {
	switch {
	case errors.Is(cause, ErrSilent):
		return "it was silent for too long"
	case errors.Is(cause, ErrLost):
		return "its process is gone, or does not know this node any more"
	case errors.Is(cause, ErrProtocol):
		return "it sent what no node sends: " + cause.Error()
	case cause == nil:
		return "the link ended"
	}
	return cause.Error()
}

// limited lets a few lines pass, and counts the others.
func (j *journal) limited(now time.Time, l logLine) (news []logLine) {
	if !now.Before(j.windowEnd) {
		if j.withheld > 0 {
			news = append(news, info(fmt.Sprintf("%d more peers came or went", j.withheld)))
		}
		j.windowEnd, j.lines, j.withheld = now.Add(peerLinesTime), 0, 0
	}
	if j.lines >= maxPeerLines {
		j.withheld++
		return news
	}
	j.lines++
	return append(news, l)
}

// failing says why the seeds can't be reached, in one line.
func (j *journal) failing() string {
	var words []string
	for _, s := range j.seeds {
		if s.state != SeedSelf && len(words) < maxSeedsNamed {
			words = append(words, fmt.Sprintf("%.256s: %s", s.addr, cmp.Or(s.reason, "no answer yet")))
		}
	}
	return strings.Join(words, ", ")
}

// status is that of each seed, in the order of the configuration.
func (j *journal) status() []SeedStatus {
	var list []SeedStatus
	for _, s := range j.seeds {
		list = append(list, s.status(j.named(s.peer).name))
	}
	return list
}

// add logs a line.
func (l logLine) add(log *zap.Logger) {
	if l.warn {
		log.Sugar().Warnw(l.text, l.fields...)
	} else {
		log.Sugar().Infow(l.text, l.fields...)
	}
}
