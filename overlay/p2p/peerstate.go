// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import "github.com/arke-mesh/arke/overlay"

// maxBacklog bounds the incoming link streams of one peer that wait for the
// handler.
const maxBacklog = 8

// peerState decides what the handler is told about one peer, and when. libp2p
// reports connections and streams from many goroutines; the handler gets one
// call after the other: PeerUp, then streams, then PeerDown.
//
// Pure: notifier drives it.
type peerState struct {
	conns     int  // confirmed connections
	routing   int  // of these, that take part in routing: the handler is told of no others
	announced bool // the handler was told PeerUp, and not PeerDown since
	gone      bool // there was a moment without any of these since
	streams   []overlay.Stream
}

// peerCall is one call of the handler.
type peerCall uint8

const (
	callNone peerCall = iota
	callUp
	callDown
	callStream
)

// connUp says that a connection stands, and whether it takes part in routing.
func (s *peerState) connUp(routing bool) {
	s.conns++
	if routing {
		s.routing++
	}
}

// connDown says that a connection is gone. The streams it returns died with
// the last one before the handler has seen them.
func (s *peerState) connDown(routing bool) (stale []overlay.Stream) {
	s.conns--
	if routing {
		s.routing--
	}
	s.gone = s.gone || s.announced && s.routing == 0
	if s.conns > 0 {
		return nil
	}
	stale, s.streams = s.streams, nil
	return stale
}

// offer adds an incoming stream, unless too many wait already.
func (s *peerState) offer(x overlay.Stream) bool {
	if len(s.streams) >= maxBacklog {
		return false
	}
	s.streams = append(s.streams, x)
	return true
}

// next returns the call to make now. A peer that was away for a moment is
// reported down and up again, however late the handler is.
func (s *peerState) next() (peerCall, overlay.Stream) {
	switch {
	case s.gone:
		s.gone, s.announced = false, false
		return callDown, nil
	case !s.announced && s.routing > 0:
		s.announced = true
		return callUp, nil
	case len(s.streams) > 0:
		x := s.streams[0]
		s.streams[0] = nil // a peer that opens no more must not keep it
		s.streams = s.streams[1:]
		return callStream, x
	}
	return callNone, nil
}

// idle says that nothing need be remembered.
func (s *peerState) idle() bool { return s.conns == 0 && !s.announced && len(s.streams) == 0 }
