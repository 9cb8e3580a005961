// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay_test

import (
	"context"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
)

// raw is a peer that a test plays by hand.
type raw struct {
	t         testing.TB
	transport *memTransport
	instance  byte
	clock     uint64

	mu      sync.Mutex
	streams []*rawStream // incoming
	downs   int
}

type rawStream struct {
	*memStream
	t      testing.TB
	frames *wire.FrameReader
}

func newRaw(t testing.TB, net *memNet, id peer.ID) *raw {
	r := &raw{t: t, transport: net.transport(id, "/mem/raw/"+string(id)), instance: 1}
	require.NoError(t, r.transport.Start(r))
	return r
}

func (r *raw) HandleStream(s overlay.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.streams = append(r.streams, r.wrap(s))
}

func (r *raw) PeerUp(peer.ID)              {}
func (r *raw) Certificate() []byte         { return nil }
func (r *raw) Routes(peer.ID, []byte) bool { return true }

func (r *raw) PeerDown(peer.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downs++
}

func (r *raw) wrap(s overlay.Stream) *rawStream {
	return &rawStream{memStream: s.(*memStream), t: r.t, frames: wire.NewFrameReader(s)}
}

// dial opens a stream to p.
func (r *raw) dial(p peer.ID) *rawStream {
	s, err := r.transport.Open(context.Background(), p, nil)
	require.NoError(r.t, err)
	return r.wrap(s)
}

// incoming returns the stream that a peer opened last.
func (r *raw) incoming() *rawStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(r.t, r.streams)
	return r.streams[len(r.streams)-1]
}

// hello is the next Hello of this peer.
func (r *raw) hello() *wire.Hello {
	r.clock++
	return &wire.Hello{
		VersionMin: 1, VersionMax: 1, Clock: r.clock, Agent: "raw", Session: 1<<40 + r.clock, Fresh: true,
		Instance: []byte{r.instance, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	}
}

// greet dials p and exchanges Hellos.
func (r *raw) greet(p peer.ID) *rawStream {
	s := r.dial(p)
	s.control(wire.KindHello, r.hello())
	s.expect(wire.KindHello)
	return s
}

func (s *rawStream) control(k wire.Kind, m proto.Message) {
	body, err := wire.AppendControl(nil, m)
	require.NoError(s.t, err)
	s.send(k, body)
}

func (s *rawStream) send(k wire.Kind, body []byte) {
	_, err := s.Write(wire.AppendFrame(nil, wire.LaneCtl, k, body))
	require.NoError(s.t, err)
}

// expect reads frames until one of kind k comes; others are skipped.
func (s *rawStream) expect(k wire.Kind) []byte {
	for {
		_, got, body, err := s.frames.Next()
		require.NoError(s.t, err)
		if got == k {
			return body
		}
	}
}

// end reads until the stream ends and returns how.
func (s *rawStream) end() error {
	for {
		if _, _, _, err := s.frames.Next(); err != nil {
			return err
		}
	}
}

func (s *rawStream) goodbye() *wire.Goodbye {
	var m wire.Goodbye
	require.NoError(s.t, wire.DecodeControl(s.expect(wire.KindGoodbye), &m))
	return &m
}
