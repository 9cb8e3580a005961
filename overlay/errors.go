// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import "errors"

// Errors of links. Tell them apart with errors.Is.
var (
	// ErrClosed is returned by everything after Shutdown or Close has begun.
	ErrClosed = errors.New("overlay: closed")

	// ErrLinkDown is returned by Send and SendWait when the link has no
	// session, or lost it while SendWait waited. Nothing was sent.
	ErrLinkDown = errors.New("overlay: link is down")

	// ErrLaneFull is returned by Send when the lane's bound on queued bytes
	// would be passed. Nothing was sent; the refusal is counted.
	ErrLaneFull = errors.New("overlay: lane is full")

	// ErrTooLarge is returned by Send and SendWait when the message exceeds
	// Config.MaxMessage. Nothing was sent.
	ErrTooLarge = errors.New("overlay: message too large")

	// ErrVersion is the cause of DialFailed when the two nodes have no link
	// version in common.
	ErrVersion = errors.New("overlay: no common link version")

	// ErrDuplicate is the cause of DialFailed when the peer already has a
	// live link with another process that uses this node's peer id.
	ErrDuplicate = errors.New("overlay: another live node uses the same peer id")

	// ErrGoodbye is the cause of LinkDown and DialFailed when the peer ended
	// the link on purpose.
	ErrGoodbye = errors.New("overlay: peer said goodbye")

	// ErrSilent is the cause of LinkDown when a peer did not answer
	// heartbeats for so long that the link was given up.
	ErrSilent = errors.New("overlay: peer is silent")

	// ErrLost is the cause of LinkDown when a stream of the link broke.
	ErrLost = errors.New("overlay: link lost")

	// ErrProtocol is the cause of LinkDown and DialFailed when the peer sent
	// what no correct node sends.
	ErrProtocol = errors.New("overlay: protocol violation by peer")
)
