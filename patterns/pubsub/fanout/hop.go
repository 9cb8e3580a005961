// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"slices"

	"github.com/arke-mesh/arke/internal/fifo"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns/pubsub/env"
)

// Verdict is what became of a frame.
type Verdict uint8

const (
	Sent Verdict = iota // it is in the lane, or will be when there is a link
	Full                // there is no room now; nothing was sent
	Lost                // there is no room, and the node is suspect or can't be called
)

// Hop is the way to one node as one publisher or forwarder sees it, whose lock
// guards it: the link, and what waits for a session of it, for keepTime at most.
// The session keeps what it was given until that has arrived, or it ends.
type Hop struct {
	Link    env.Link
	release func() // ends the hold; nil = there is none
	used    int64
	session uint64 // in which something was sent last; 0 = it has ended
	losses  uint64 // how often something may have been lost

	opening bool
	failed  bool  // the last dial has
	retry   int64 // when the link may be dialled again
	Waiting fifo.Queue[frame]
	bytes   int   // of waiting
	since   int64 // when the first one of them came

	last  overlay.Receipt // of the frame that was given to the link last
	Grow  Growing         // what that one is, if messages can be added to it
	parts [3][]byte       // scratch
}

// Growing is a frame of messages while others may be added to it: those that come
// until the link has sent what is before it share it.
type Growing struct {
	next  Following
	Topic string // of the last message
	Picks []wire.Pick
}

// Following is what the next message has to be if it is to be added.
type Following struct {
	Session     uint64
	Run, epoch  uint32
	Number      uint64 // 0 = they are not for the receiver itself; no frame has this and session 0
	flags       uint8
	origin      string
	incarnation uint64
	serial      uint64
	forwarder   uint64 // serial of what the publisher says of the root group's
}

// advance has f be what follows n messages of which it is the first.
func (f *Following) advance(n int) {
	if f.Number > 0 {
		f.Number += uint64(n)
	}
	if f.flags&wire.FlagRoot != 0 {
		f.serial += uint64(n)
	}
}

// frame is one that waits for a link.
type frame struct {
	kind wire.Kind
	body []byte
}

// Extends says whether the frame that was sent last is one that such messages can follow.
func (h *Hop) Extends(is Following) bool {
	return h.Grow.next == is && h.last.Number != 0 && h.Waiting.Len() == 0
}

// Extend adds n messages to that frame, if the link has not taken it yet.
func (h *Hop) Extend(now int64, n int, a, b []byte) bool {
	h.parts[0], h.parts[1] = a, b
	ok := h.Link.Extend(h.last, h.parts[:2]...)
	h.parts[0], h.parts[1] = nil, nil
	if !ok {
		h.last = overlay.Receipt{}
		return false
	}
	h.used = now
	h.Grow.next.advance(n)
	return true
}

// begun notes that the frame that was sent begins with these n messages.
func (h *Hop) begun(is Following, n int, topic string, picks []wire.Pick) {
	h.Grow = Growing{next: is, Topic: topic, Picks: append(h.Grow.Picks[:0], picks...)}
	h.Grow.next.advance(n)
}

// send puts a frame into the lane, or keeps it while a link is being
// established. It never blocks.
func (h *Hop) send(now int64, addrs []string, k wire.Kind, a, b, c []byte) Verdict {
	h.used, h.last, h.Grow.next = now, overlay.Receipt{}, Following{}
	if h.release == nil { // so that a node that hangs is noticed
		h.release = h.Link.Hold()
	}
	if h.Waiting.Len() == 0 {
		h.parts = [3][]byte{a, b, c}
		v, down := h.put(k, h.parts[:])
		h.parts = [3][]byte{}
		if !down {
			return v
		}
	}
	n := len(a) + len(b) + len(c)
	switch {
	case h.Waiting.Len() == 0:
		h.since = now
	case h.bytes+n <= env.MaxWaiting:
	case h.failed: // nobody waits for such a node
		h.losses++
		return Lost
	default:
		return Full
	}
	h.Waiting.Push(frame{k, slices.Concat(a, b, c)})
	h.bytes += n
	h.Open(now, addrs)
	return Sent
}

// put gives a frame to the link, or says that it is down.
func (h *Hop) put(k wire.Kind, parts [][]byte) (v Verdict, down bool) {
	receipt, err := h.Link.Send(overlay.LanePub, k, parts...)
	switch {
	case err == nil:
		if h.session != 0 && h.session != receipt.Session {
			h.losses++ // the event of that will be here at once
		}
		h.session, h.last = receipt.Session, receipt
		return Sent, false
	case errors.Is(err, overlay.ErrLinkDown):
		return Lost, true
	case errors.Is(err, overlay.ErrLaneFull) && !h.Link.Suspect(): // nobody waits for a suspect node
		return Full, false
	}
	h.losses++
	return Lost, false
}

// Open begins to establish the link, unless that has just failed.
func (h *Hop) Open(now int64, addrs []string) {
	if !h.opening && now >= h.retry && h.Link.Session() == 0 {
		h.opening = true
		h.Link.Open(addrs) // reports its result later, never from within
	}
}

// event takes in what happened to the link, and says how many frames that waited
// for it are lost.
func (h *Hop) event(now int64, ev overlay.PeerEvent) (dropped int) {
	switch ev.Type {
	case overlay.LinkUp:
		h.opening, h.failed, h.retry = false, false, 0
		for h.Waiting.Len() > 0 {
			f := h.Waiting.First()
			if v, _ := h.put(f.kind, [][]byte{f.body}); v != Sent {
				break
			}
			h.bytes -= len(h.Waiting.Pop().body)
		}
		h.last = overlay.Receipt{} // it may be another kind of frame
	case overlay.LinkDown:
		if h.session != 0 && h.session != ev.Session {
			return 0 // the next one stands already
		}
		if h.session != 0 {
			h.losses++
		}
		h.session = 0
	case overlay.DialFailed:
		h.opening, h.failed, h.retry = false, true, now+int64(env.RedialTime)
		if now-h.since < int64(env.KeepTime) {
			return 0
		}
	default:
		return 0
	}
	if dropped = h.Waiting.Len(); dropped > 0 {
		h.losses++
	}
	h.Waiting.Clear()
	h.bytes = 0
	return dropped
}

// HasRoom says whether send would not return full.
func (h *Hop) HasRoom(n int) bool {
	switch {
	case h.Link.Suspect() || h.failed:
		return true
	case h.Waiting.Len() == 0 && h.Link.Session() != 0:
		return h.Link.HasRoom(overlay.LanePub, n) || h.Link.Session() == 0
	}
	return h.Waiting.Len() == 0 || h.bytes+n <= env.MaxWaiting
}

// Sound says whether what is sent now arrives soon, as far as is known.
func (h *Hop) Sound() bool { return h.Link.Session() != 0 && !h.Link.Suspect() }

// rest lets go of a link that has not been used for a while.
func (h *Hop) rest(now int64) {
	if now-h.used > int64(env.IdleTime) && h.Waiting.Len() == 0 {
		h.End()
	}
}

// End lets go of the link.
func (h *Hop) End() {
	if h.release != nil {
		h.release()
		h.release = nil
	}
}
