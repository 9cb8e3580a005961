// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// wireRun is a session's log with a connection that breaks, and a receiver.
type wireRun struct {
	log      *sendLog
	put      [wire.Lanes][]string // what is to arrive, in order
	numbers  map[string]uint64    // of what was put
	on       []byte               // taken, and not received yet
	received wire.Counts
	arrived  [wire.Lanes][]string
}

// arrive has the receiver get so many of the frames that are on the connection.
func (w *wireRun) arrive(t *testing.T, frames int) {
	r := bytes.NewReader(w.on)
	reader := wire.NewFrameReader(r)
	used := 0
	for range frames {
		lane, k, body, err := reader.Next()
		if err != nil {
			break
		}
		used += wire.FrameOverhead + len(body)
		w.received[lane]++
		if k != wire.KindVoid {
			w.arrived[lane] = append(w.arrived[lane], string(body))
		}
	}
	w.on = w.on[used:]
	for lane, got := range w.arrived {
		require.LessOrEqual(t, len(got), len(w.put[lane]))
		require.True(t, slices.Equal(w.put[lane][:len(got)], got), "lane %d: %.40q instead of %.40q", lane, got, w.put[lane])
	}
}

// FuzzSessionLog plays any sequence of messages, writes, acknowledgements, withdrawals,
// and connections that break with something under way to the log of a session, two
// bytes an event. What was not withdrawn arrives, once and in the order of its lane.
func FuzzSessionLog(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 1, 9, 2, 1, 4, 0, 1, 9, 2, 9, 3, 0})
	f.Add([]byte{0, 0, 0, 1, 0, 2, 5, 1, 1, 200, 4, 0, 1, 200, 2, 200})
	f.Add([]byte{0, 1, 1, 9, 4, 0, 0, 1, 1, 9, 4, 0, 5, 0, 1, 9, 3, 0})
	f.Fuzz(func(t *testing.T, events []byte) {
		w := &wireRun{log: testLog(8 << 10), numbers: make(map[string]uint64)}
		for i := 0; i+1 < len(events) && i < 400; i += 2 {
			w.play(t, i, events[i]%6, int(events[i+1]))
			for acc, a := range w.log.windows {
				require.True(t, a.queued >= 0 && a.kept >= 0 && a.promised == 0, "account %d: %d queued, %d kept, %d promised", acc, a.queued, a.kept, a.promised)
				require.LessOrEqual(t, a.queued+a.kept, a.limit, "account %d", acc)
			}
		}
		require.True(t, w.log.resume(w.received))
		w.on = nil
		for range 10_000 {
			if w.log.empty() {
				break
			}
			w.play(t, 0, 1, 255)
			w.play(t, 0, 2, 255)
		}
		w.play(t, 0, 3, 0)
		for lane := range w.put {
			require.Len(t, w.arrived[lane], len(w.put[lane]), "all that was not withdrawn has arrived")
		}
		require.False(t, w.log.pending())
	})
}

func (w *wireRun) play(t *testing.T, i int, what byte, arg int) {
	q := w.log
	switch what {
	case 0: // a message
		lane := wire.Lane(arg % 3)
		body := fmt.Sprintf("%d %s", i, bytes.Repeat([]byte{'x'}, arg))
		l, acc, size := place(lane, len(body))
		if q.reserve(acc, size) {
			w.numbers[body] = q.push(l, acc, wire.KindRequest, size, [][]byte{[]byte(body)})
			w.put[lane] = append(w.put[lane], body)
		}
	case 1: // the connection takes so much
		for _, s := range q.take(nil, 1+arg*16) {
			w.on = append(w.on, s.b...)
		}
		q.wrote()
	case 2: // the peer receives so many frames
		w.arrive(t, arg)
	case 3: // and acknowledges what it has
		require.True(t, q.ack(w.received))
	case 4: // the connection breaks
		w.on = nil
		require.True(t, q.resume(w.received), "the peer says what it has received")
	case 5: // the sender takes the last message of a lane back
		lane := wire.Lane(arg % 3)
		if n := len(w.put[lane]); n > 0 {
			body := w.put[lane][n-1]
			if q.withdraw(lane, w.numbers[body]) {
				require.Less(t, len(w.arrived[lane]), n, "it can't have come")
				w.put[lane] = w.put[lane][:n-1]
			}
		}
	}
}
