// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/overlay"
)

// admittedPair is two hosts of one network; the first is connected to the second.
func admittedPair(t *testing.T) (a, b *Host) {
	t.Helper()
	n := NewNetwork(t)
	a, b = NewHost(t, n), NewHost(t, n)
	for _, h := range []*Host{a, b} {
		require.NoError(t, h.Start(make(events, 100)))
	}
	_, err := a.Connect(t.Context(), overlay.Candidate{Peer: b.Self(), Addrs: b.Addrs()})
	require.NoError(t, err)
	return a, b
}

// asks opens a stream of a to the router of b.
func asks(t *testing.T, a, b *Host) network.Stream {
	t.Helper()
	s, err := a.current().host.NewStream(t.Context(), b.Self(), questions(b))
	require.NoError(t, err)
	require.NoError(t, s.SetDeadline(time.Now().Add(time.Minute)))
	return s
}

func frame(m *pb.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
}

// This test checks that an admitted peer can't have a node hold what it sends half of:
// of 250 streams to the router, each with most of a message of 4 MiB, none is left,
// and afterwards its questions are answered as before.
func TestHalfSentQuestionsPinNothing(t *testing.T) {
	a, b := admittedPair(t)
	require.Eventually(t, func() bool { return b.Router().Size() == 1 }, time.Minute, time.Millisecond)
	var streams []network.Stream
	half := append(binary.AppendUvarint(nil, 4<<20), make([]byte, 20<<10)...)
	for range 250 {
		s, err := a.current().host.NewStream(t.Context(), b.Self(), questions(b))
		if err != nil {
			continue // refused at once
		}
		_, _ = s.Write(half)
		streams = append(streams, s)
	}
	require.NotEmpty(t, streams)
	for _, s := range streams {
		require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err := s.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "deadline")
	}
	counts := b.Counters()
	require.NotZero(t, counts["router_invalid"])
	limits := b.current().upgrader.limits
	require.Eventually(t, func() bool { return limits.all.Used() <= 2 }, time.Minute, time.Millisecond, "of identify")

	s := asks(t, a, b)
	_, err := s.Write(frame(pb.NewMessage(pb.Message_FIND_NODE, []byte(b.Self()), 0)))
	require.NoError(t, err)
	_, err = s.Read(make([]byte, 1))
	require.NoError(t, err)
}

// This test checks that one peer has few streams to the router, and is told at once.
func TestAPeerHasFewStreamsToTheRouter(t *testing.T) {
	a, b := admittedPair(t)
	var open []network.Stream
	for range maxAskers + 4 {
		s := asks(t, a, b)
		_, _ = s.Write([]byte{200}) // a question begins
		open = append(open, s)
	}
	require.Eventually(t, func() bool { return b.Counters()["router_stream_limit"] >= 4 }, time.Minute, time.Millisecond)
	for _, s := range open {
		_ = s.Reset()
	}
}

// This test checks what is taken for a question: FIND_NODE with a key, whole and
// small. Everything else, such as to store something, resets the stream.
func TestOnlyFindNodeIsAQuestion(t *testing.T) {
	good := frame(pb.NewMessage(pb.Message_FIND_NODE, []byte("key"), 0))
	read := func(b []byte) error {
		_, err := readQuestion(bufio.NewReader(bytes.NewReader(b)))
		return err
	}
	require.NoError(t, read(good))
	require.NoError(t, read(frame(pb.NewMessage(pb.Message_FIND_NODE, []byte(strings.Repeat("k", 3000)), 0))))
	for name, b := range map[string][]byte{
		"no key":      frame(pb.NewMessage(pb.Message_FIND_NODE, nil, 0)),
		"put":         frame(pb.NewMessage(pb.Message_PUT_VALUE, []byte("key"), 0)),
		"provide":     frame(pb.NewMessage(pb.Message_ADD_PROVIDER, []byte("key"), 0)),
		"too large":   frame(pb.NewMessage(pb.Message_FIND_NODE, []byte(strings.Repeat("k", maxQuestion)), 0)),
		"huge":        binary.AppendUvarint(nil, 1<<62),
		"no number":   bytes.Repeat([]byte{255}, 20),
		"cut":         good[:len(good)-1],
		"no protobuf": {3, 255, 255, 255},
	} {
		require.ErrorIs(t, read(b), errQuestion, name)
	}
}

// FuzzQuestion checks that no bytes make the decoder panic or take more than it may.
func FuzzQuestion(f *testing.F) {
	f.Add(frame(pb.NewMessage(pb.Message_FIND_NODE, []byte("key"), 0)))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bufio.NewReader(bytes.NewReader(b))
		m, err := readQuestion(in)
		if err == nil {
			require.NotEmpty(t, m.GetKey())
			require.LessOrEqual(t, len(m.GetKey()), maxQuestion)
			return
		}
		require.Nil(t, m)
		require.NotErrorIs(t, err, context.Canceled)
		_, _ = io.Copy(io.Discard, in)
	})
}
