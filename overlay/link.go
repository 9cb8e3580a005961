// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
)

// Link is everything between this node and one peer. All methods may be
// called concurrently.
type Link struct{}

// LinkStatus describes a link to people.
type LinkStatus struct {
	Peer    string         `json:"peer"`
	Addr    string         `json:"addr,omitempty"`
	State   string         `json:"state"` // up, suspect, opening
	Session uint64         `json:"session"`
	Version uint32         `json:"version,omitempty"`
	Agent   string         `json:"agent,omitempty"`
	RTT     time.Duration  `json:"rtt_ns,omitempty"`       // 0 = not measured yet
	Queued  map[string]int `json:"queued_bytes,omitempty"` // by lane, empty lanes left out
}

// Peer is the authenticated id of the other node.
func (l *Link) Peer() peer.ID { return "" }

// Up says whether the link has a session.
func (l *Link) Up() bool { return false }

// Suspect says whether the peer leaves heartbeats unanswered.
func (l *Link) Suspect() bool { return false }

// Session is the number of the current session, 0 if there is none. Numbers
// are never used twice. A new number means that frames may have been lost.
func (l *Link) Session() uint64 { return 0 }

// Open begins to establish the link, in the background; addrs are further
// addresses to try. It does nothing if the link is up or being opened. The
// result comes as a PeerEvent, LinkUp or DialFailed.
func (l *Link) Open(addrs []string) {}

// Wait is Open, and waits for the session until ctx ends.
func (l *Link) Wait(ctx context.Context, addrs []string) (uint64, error) { panic("not yet") }

// Send queues one message and returns the session it belongs to. It never
// blocks, and copies parts, whose concatenation is the body. More than
// MaxFrameBody bytes go in fragments on lane bulk, whatever lane says.
// Errors: ErrLinkDown, ErrLaneFull (counted), ErrTooLarge, ErrClosed.
func (l *Link) Send(lane Lane, k wire.Kind, parts ...[]byte) (uint64, error) { panic("not yet") }

// SendWait is Send, but waits for room in the lane until ctx ends.
func (l *Link) SendWait(ctx context.Context, lane Lane, k wire.Kind, parts ...[]byte) (uint64, error) {
	panic("not yet")
}

// Hold declares interest in the peer's life: heartbeats run while anybody
// holds the link. release may be called more than once.
func (l *Link) Hold() (release func()) { return func() {} }

// LocalTime converts a time on the peer's link clock to local time, by the
// best estimate there is.
func (l *Link) LocalTime(remote uint64) time.Time { return time.Time{} }
