// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/nodename"
	"github.com/arke-mesh/arke/internal/reason"
)

// The states of a seed.
const (
	SeedTrying  = "trying"  // not reached yet, for less than five seconds
	SeedReached = "reached" // a connection stands
	SeedSelf    = "self"    // it is this node, and leads to no other: it counts as none
	SeedFailing = "failing" // it can't be reached
)

// SearchStatus is how the search for peers goes.
type SearchStatus struct {
	// Seeds are those of the configuration, in its order.
	Seeds []SeedStatus
	// Unwritten is why Config.RememberFile can't be written, nil if it can.
	Unwritten error
}

// SeedStatus is what became of one seed of the configuration.
type SeedStatus struct {
	Addr  string    `json:"addr"`            // as it was configured
	State string    `json:"state"`           // trying, reached, self, or failing
	Peer  string    `json:"peer,omitempty"`  // who was there last
	Name  string    `json:"name,omitempty"`  // what people call it: any text, to be escaped
	Error string    `json:"error,omitempty"` // why it, or another address of its name, can't be reached
	Since time.Time `json:"since"`           // when the state began
}

// Text says how the seed is, in one line.
func (s SeedStatus) Text(now time.Time) string {
	text := fmt.Sprintf("%s  %s for %v", s.Addr, s.State, now.Sub(s.Since).Round(time.Second))
	if s.State == SeedReached {
		text += ": " + nodename.Of(s.Name, s.Peer)
	}
	if s.Error != "" {
		text += ": " + s.Error
	}
	return text
}

const (
	// seedPatience is how long a seed may be out of reach before the log says so.
	seedPatience = 5 * time.Second
	// seedRepeat is the time between two lines about one seed whose reason changes.
	seedRepeat = time.Minute
)

// seed is one of the configuration, and what the log has said of it.
type seed struct {
	addr   string
	state  string
	peer   peer.ID
	reason string
	since  time.Time
	told   string // the reason in the log; empty = the log has none
	toldAt time.Time
}

// become is the seed's new state.
func (s *seed) become(now time.Time, state string) {
	if s.state != state {
		s.state, s.since = state, now
	}
	if state != SeedFailing {
		s.reason = ""
	}
	if state == SeedReached || state == SeedSelf {
		s.told = ""
	}
}

// dialled takes in how a dial ended.
func (s *seed) dialled(now time.Time, self peer.ID, p namedPeer, err error) (news []logLine) {
	switch {
	case p.id == self:
		s.peer = self
		s.become(now, SeedSelf)
		if err != nil {
			s.reason = reason.OfDial(err)
		}
	case err != nil:
		if s.state != SeedFailing {
			s.become(now, SeedTrying)
		}
		s.reason = reason.OfDial(err)
		return s.look(now)
	default:
		s.peer = p.id
		if s.told != "" {
			news = append(news, info("a seed is reached now", "seed", s.addr, "peer", p, "id", p.id))
		}
		s.become(now, SeedReached)
	}
	return news
}

// lost notes that the last connection with the seed's node is gone.
func (s *seed) lost(now time.Time, p peer.ID) {
	if s.peer == p && s.state == SeedReached {
		s.become(now, SeedTrying)
	}
}

// look says whether it is time to speak of a seed out of reach.
func (s *seed) look(now time.Time) []logLine {
	if s.state == SeedReached || s.state == SeedSelf || now.Sub(s.since) < seedPatience && s.state == SeedTrying {
		return nil
	}
	if s.reason == "" {
		s.reason = "no answer"
	}
	if s.state == SeedTrying {
		s.state = SeedFailing // since it began to try
	}
	if s.told == s.reason || s.told != "" && now.Sub(s.toldAt) < seedRepeat {
		return nil
	}
	s.told, s.toldAt = s.reason, now
	return []logLine{warn("a seed can't be reached", "seed", s.addr, "reason", s.reason)}
}

// status describes the seed. name is that of its node, if it is known.
func (s *seed) status(name string) SeedStatus {
	status := SeedStatus{Addr: s.addr, State: s.state, Name: name, Error: s.reason, Since: s.since}
	if s.peer != "" {
		status.Peer = s.peer.String()
	}
	return status
}
