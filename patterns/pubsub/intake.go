// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package pubsub

// intake counts what comes of a peer's pipe, so that each frame is handled
// once, whatever is sent again: a pure core.
type intake struct {
	pipe   uint64
	next   uint64 // number of the first frame that has not come
	at     uint64 // number of the next frame in this session; 0 = not told
	mine   bool   // what comes is for this node as it is now
	frames int    // since the last acknowledgement
	bytes  int
}

// arrivedAs is what a frame is to the intake.
type arrivedAs uint8

const (
	arrivedFresh arrivedAs = iota
	arrivedAgain
	arrivedForEarlier  // for this node before it was started anew
	arrivedUnannounced // its number is not known; it will be sent again
)

// resume takes in the number of the frame that comes next, and whether that is
// for this node as it is now. It says whether frames are missing before it.
func (i *intake) resume(pipe, first uint64, mine bool) (hole bool) {
	if i.pipe != pipe || i.next == 0 {
		*i = intake{pipe: pipe, next: 1}
	}
	i.at, i.mine = first, mine
	if first > i.next {
		i.next = first
		return true
	}
	return false
}

// arrive takes in a frame, and says what it is.
func (i *intake) arrive(bytes int) arrivedAs {
	if i.at == 0 {
		return arrivedUnannounced
	}
	i.frames++
	i.bytes += bytes
	i.at++
	switch {
	case i.at <= i.next:
		return arrivedAgain
	case !i.mine:
		i.next = i.at
		return arrivedForEarlier
	}
	i.next = i.at
	return arrivedFresh
}

// due says whether the peer should be told what has come.
func (i *intake) due() bool { return i.frames >= ackFrames || i.bytes >= ackBytes }

// acknowledged notes that the peer was told.
func (i *intake) acknowledged() { i.frames, i.bytes = 0, 0 }

// end takes in that the session is over.
func (i *intake) end() { i.at = 0 }
