// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import "github.com/arke-mesh/arke/internal/credit"

// The sides of a spliced tunnel.
const (
	clientSide = iota
	nodeSide
)

// junction is what passes from each side of a spliced tunnel to the other one. It
// keeps no chunk: it only counts them. A pure core; the splice's mutex guards it.
type junction struct {
	flows  [2]flow // from each side
	joined bool    // the opening was answered
	served bool    // by the client: its frames may overtake its answer
	over   bool
	inLine int // frames that stand in line for room in a lane
}

// flow is one direction.
type flow struct {
	window credit.Window // of the side that it comes from
	heard  uint64        // credit that the side it goes to has given, in total
	ended  bool          // in good order
	told   bool          // the side that it comes from was told of credit once
	// returned is the credit that was given back though the side it comes from was never
	// told of it.
	returned uint64
	busy     bool // a chunk came since the last rest
}

// newFlow returns a flow with a window of that size, towards a side that has
// given so much credit.
func newFlow(size int, given uint64) flow {
	return flow{window: credit.NewWindowUpTo(size, given), heard: given}
}

// limit is the credit that the side a flow comes from may be told of.
func (f *flow) limit() uint64 { return f.heard - f.returned }

// returned takes in the credit that one side gives back, or asks for, and returns what the
// other side is to be told: that, and what was kept back here. Then grant is due.
func (j *junction) returned(by int, total uint64, b *credit.Budget) (all uint64, pass bool, err error) {
	f := &j.flows[by]
	asks := f.window.Asks(total)
	switch {
	case !j.passes(by) || f.ended:
		return 0, false, nil
	case !f.window.Returned(total, b):
		return 0, false, errNoCredit
	}
	if !asks {
		f.returned += f.limit() - f.window.Total()
	}
	return total + f.returned, true, nil
}

// join notes the first credit that the other side has given to the flow from one
// side, which that one is told of with the answer.
func (j *junction) join(from int, given uint64) {
	f := &j.flows[from]
	f.heard = max(f.heard, given)
	f.window.GrantUpTo(f.limit())
	f.busy = true
	j.joined = true
}

// passes says whether frames of one side are passed on. The opener keeps what
// comes before the answer, so what the client says before is passed on as well.
func (j *junction) passes(from int) bool {
	return !j.over && (j.joined || j.served && from == clientSide)
}

// came takes in a chunk of n bytes. pass says whether to pass it on; an error,
// how its side has broken the protocol.
func (j *junction) came(from, n int) (pass bool, err error) {
	f := &j.flows[from]
	switch {
	case !j.passes(from):
		return false, nil
	case f.ended:
		return false, errBehindEnd
	case !f.window.Came(n):
		return false, errNoCredit
	}
	f.busy = true
	return true, nil
}

// rest gives back what is kept back here from a side that has sent nothing since the last
// call, and returns what the other side is to be told. A side that keeps the least that an
// idle one does gives nothing back itself.
func (j *junction) rest(from int) (all uint64, pass bool) {
	f := &j.flows[from]
	kept, idle := f.limit()-f.window.Total(), !f.busy
	f.busy = false
	if !idle || !j.joined || j.over || f.ended || kept == 0 {
		return 0, false
	}
	f.returned += kept
	return f.window.AllReturned() + f.returned, true
}

// left notes that a chunk of that cost has found its room in the lane, and says
// whether it is time to resize the window of its side.
func (j *junction) left(from, cost int) (resize bool) {
	f := &j.flows[from]
	f.window.Read(cost)
	return f.window.Turned() && !j.over
}

// grant says whether a side is to be told of more credit.
func (j *junction) grant(from int) (tell bool) {
	f := &j.flows[from]
	return !j.over && !f.ended && f.window.GrantUpTo(f.limit())
}

// granted takes in the credit that a side has given, and says whether to tell
// the other one: also of the first that is no more than before, since by that an
// opener says that it has the answer.
func (j *junction) granted(by int, total uint64) (tell bool) {
	f := &j.flows[1-by]
	f.heard = max(f.heard, total)
	if j.over || !j.joined {
		return false
	}
	tell = f.window.GrantUpTo(f.limit()) || !f.told
	f.told = true
	return tell
}

// ended notes that a side has ended its direction, and says whether to pass that
// on.
func (j *junction) ended(from int) (pass bool) {
	if !j.passes(from) {
		return false
	}
	j.flows[from].ended = true
	return true
}

// settle notices that both directions have ended in good order and all has left.
func (j *junction) settle() (over bool) {
	if j.over || !j.joined || !j.flows[0].ended || !j.flows[1].ended || j.inLine > 0 {
		return false
	}
	j.over = true
	return true
}
