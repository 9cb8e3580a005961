// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

// published is the frame of a publication with that id, and of more
// behind it if that is more than 1.
func published(id uint64, flags uint8) []byte {
	m := wire.Publish{Session: 7, Number: 1, Flags: flags}
	if flags&wire.FlagOrigin != 0 {
		m.Origin, m.Source = wire.Origin{Peer: "p", Incarnation: 1, Serial: 1}, "p"
	}
	for i, topic := range []string{"a.b", "", ""}[:min(id, 3)] {
		content := binary.BigEndian.AppendUint64([]byte{0, 0}, id+uint64(i)*100)
		m.Messages = append(wire.AppendMessage(m.Messages, topic, nil, len(content)), content...)
	}
	return wire.AppendFrame(nil, wire.LaneCtl, wire.KindPublish, m.AppendTo(nil))
}

// asking is the frame of a request with that id which has come through two networks.
func asking(id uint64, flags uint8) []byte {
	m := wire.Request{ID: 1, Member: 2, Flags: flags, Origin: &wire.Origin{Peer: "p", Networks: []string{"us", "eu"}}}
	m.Tail = binary.BigEndian.AppendUint64([]byte{0, 0}, id)
	return wire.AppendFrame(nil, wire.LaneCtl, wire.KindRequest, m.AppendTo(nil))
}

func TestPublicationsAndRequestsAreFoundInAStreamOfFramesHoweverItIsCut(t *testing.T) {
	// Whatever the pieces are in which a stream is written, each publication and request
	// that can be read is found once, in order, and nothing else is.
	stream := append([]byte{}, published(1, 0)...)
	stream = wire.AppendFrame(stream, wire.LaneCtl, wire.KindHello, []byte("not a publication"))
	stream = wire.AppendFrame(stream, wire.LaneCtl, wire.KindGoodbye)
	stream = append(stream, published(2, wire.FlagSealed)...)
	stream = append(append(stream, asking(5, 0)...), asking(6, wire.FlagSealed)...)
	stream = append(stream, published(3, wire.FlagRoot|wire.FlagOrigin)...)
	stream = wire.AppendFrame(stream, wire.LaneCtl, wire.KindPublish, []byte("nonsense"))
	stream = append(stream, published(4, 0)...)
	for _, size := range []int{1, 2, 3, 5, 7, 50, len(stream)} {
		var f frames
		var found, asked []uint64
		bytes := 0
		f.publication = func(_ time.Duration, body []byte) {
			publicationsOf(body, func(id uint64, n int) { found, bytes = append(found, id), bytes+n })
		}
		f.request = func(_ time.Duration, body []byte) {
			if id, passed, ok := requestOf(body); ok {
				require.Equal(t, []string{"us", "eu"}, passed)
				asked = append(asked, id)
			}
		}
		for rest := stream; len(rest) > 0; {
			n := min(size, len(rest))
			f.feed(0, rest[:n])
			rest = rest[n:]
		}
		require.Equal(t, []uint64{5}, asked, "in pieces of %d bytes", size)
		require.Equal(t, []uint64{1, 3, 103, 203, 4, 104, 204}, found, "in pieces of %d bytes", size)
		require.Equal(t, len(published(1, 0))+len(published(3, wire.FlagRoot|wire.FlagOrigin))+len(published(4, 0)), bytes)
	}
}

func TestWhatIsNoStreamOfFramesIsLeftAlone(t *testing.T) {
	// A length that no frame has ends the search, without a panic and without
	// memory for what was announced.
	for _, length := range []uint32{0, wire.MaxFrame + 1, 1<<32 - 1} {
		var f frames
		data := append(binary.BigEndian.AppendUint32(nil, length), byte(wire.KindPublish))
		f.publication = func(time.Duration, []byte) { t.Fatal("nothing can be found") }
		f.feed(0, append(data, published(1, 0)...))
		require.True(t, f.lost)
		require.Empty(t, f.body)
	}
}
