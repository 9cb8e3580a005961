// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
)

// TestARunIsWhatItsFramesSayOneByOne proves that publications that are taken in together
// are those of their frames, each for its subscriptions, in order, whatever the frames
// before had in common with it; and that memory of frames that were not kept may be used
// again.
func TestARunIsWhatItsFramesSayOneByOne(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	var r run
	var want, got []string
	note := func(ids []uint64, p *patterns.Publication) string {
		return fmt.Sprint(ids, p.Topic, p.From, p.Headers, len(p.Body), string(p.Body[:min(len(p.Body), 9)]))
	}
	var taken [][]patterns.Publication
	hand := func() {
		if pubs := r.take(); len(pubs) > 0 {
			require.LessOrEqual(t, len(pubs), together)
			taken = append(taken, pubs)
			for i := range pubs {
				got = append(got, note(r.of.Subscriptions, &pubs[i]))
			}
		}
	}
	heads := []wire.LeafPublication{
		{Publisher: "p", Topic: "a", Subscriptions: []uint64{1}},
		{Publisher: "p", Topic: "a", Subscriptions: []uint64{1, 2}},
		{Publisher: "p", Topic: "b", Subscriptions: []uint64{1}},
		{Publisher: "pub", Topic: "a", Subscriptions: []uint64{1}},
		{Publisher: "", Topic: "a", Subscriptions: []uint64{256}},
	}
	runs := 0
	for i := range 5000 {
		if i%40 == 0 || dice.IntN(20) == 0 {
			runs++
			heads[0], heads[1+dice.IntN(4)] = heads[1+dice.IntN(4)], heads[0]
		}
		h := heads[0]
		headers := []wire.Header{{Key: "k", Value: fmt.Sprint(i)}}[:dice.IntN(2)]
		body := append(fmt.Append(nil, i), make([]byte, []int{0, 100, shelfBody, shelfBody * 2}[dice.IntN(4)])...)
		if dice.IntN(50) == 0 {
			body = nil
		}
		p := patterns.Publication{Topic: h.Topic, From: h.Publisher, Headers: wire.ConvertHeaders[patterns.Header](headers), Body: body}
		want = append(want, note(h.Subscriptions, &p))
		frame := wire.AppendTail(h.AppendHead(nil), headers, body)
		tail, ok := r.follows(frame)
		if !ok {
			hand()
			var err error
			tail, err = r.begin(frame)
			require.NoError(t, err)
		}
		kept, more, err := r.add(tail)
		require.NoError(t, err)
		require.Equal(t, len(body) > shelfBody, kept)
		if !kept {
			copy(frame, bytes.Repeat([]byte{0xff}, len(frame)))
		}
		if !more {
			hand()
		}
	}
	hand()
	require.Equal(t, want, got)
	require.Less(t, len(taken), 2*runs+len(want)/together, "they are not taken in together")

	_, err := r.begin([]byte{5})
	require.Error(t, err)
	_, ok := r.follows(wire.AppendTail(heads[0].AppendHead(nil), nil, nil))
	require.False(t, ok, "what it was like is not known any more")
	flat := slices.Concat(taken...)
	require.Len(t, flat, len(want))
	for i, p := range flat { // what came later has not touched them
		if len(p.Body) > 0 {
			require.True(t, bytes.HasPrefix(p.Body, fmt.Append(nil, i)))
		}
	}
}
