// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"errors"
	"fmt"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/overlay/session"
)

// Errors of links. Tell them apart with errors.Is.
var (
	// ErrClosed is returned by everything after Shutdown or Close has begun.
	ErrClosed = errors.New("overlay: closed")

	// ErrLinkDown is returned by Send and SendWait when the link has no
	// session, or lost it while SendWait waited. Nothing was sent.
	ErrLinkDown = session.ErrDown

	// ErrRefused is the error of Transport.Open when every known address of the
	// peer refused the connection: the process is not there.
	ErrRefused = errors.New("connection refused")

	// ErrLaneFull is returned by Send when the lane's bound on queued and
	// unacknowledged bytes would be passed. Nothing was sent; the refusal is counted.
	ErrLaneFull = session.ErrLaneFull

	// ErrTooLarge is returned by Send and SendWait when the message exceeds
	// Config.MaxMessage. Nothing was sent.
	ErrTooLarge = session.ErrTooLarge

	// ErrVersion is the cause of DialFailed when the two nodes have no link
	// version in common.
	ErrVersion = errors.New("overlay: no common link version")

	// ErrDuplicate is the cause of DialFailed when the peer already has a
	// live link with another process that uses this node's peer id.
	ErrDuplicate = errors.New("overlay: another live node uses the same peer id")

	// ErrExcluded is the cause of LinkDown and DialFailed for a peer that this node
	// has nothing to do with; see Overlay.Exclude.
	ErrExcluded = errors.New("overlay: the peer is excluded from the network")

	// ErrNotAdmitted is the cause of LinkDown and DialFailed when one of the two nodes
	// does not let the other in; see Config.Admission. The text says which, and why.
	ErrNotAdmitted = errors.New("overlay: not admitted")

	// ErrTurnedAway is the error of Transport.Connect and Open, and the cause of LinkDown
	// and DialFailed, when it is the peer that does not let this node in.
	ErrTurnedAway = errors.New("turned away")

	// ErrGoodbye is the cause of LinkDown and DialFailed when the peer ended
	// the link on purpose.
	ErrGoodbye = session.ErrGoodbye

	// ErrSpare is the cause of LinkDown when neither side needed the link any more: it
	// says nothing of the peer, which is there. It is ErrGoodbye, too.
	ErrSpare = fmt.Errorf("%w: neither side needs the link", ErrGoodbye)

	// ErrSilent is the cause of LinkDown when the peer was not heard for so long
	// that the session was given up.
	ErrSilent = session.ErrSilent

	// ErrLost is the cause of LinkDown when a connection broke and the session
	// could not go on: the process is gone, or does not know the session any more.
	ErrLost = session.ErrLost

	// ErrProtocol is the cause of LinkDown and DialFailed when the peer sent
	// what no correct node sends.
	ErrProtocol = session.ErrProtocol
)

// ReplacedError is why a peer can't be connected to that was known before: another node
// of the network answers at all its addresses.
type ReplacedError struct {
	By   peer.ID
	Addr string // where By answers, a multiaddr
	Err  error
}

func (e *ReplacedError) Error() string { return e.Err.Error() }
func (e *ReplacedError) Unwrap() error { return e.Err }
