// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// FuzzFrames has a peer send anything, to a node with a member of an open and
// one of a sealed cluster: nothing panics, and the sealed one never runs.
func FuzzFrames(f *testing.F) {
	open := wire.Request{ID: 1, Member: 1, Incarnation: 7, Tail: tail([]byte("x"))}
	sealed := wire.Request{ID: 2, Member: 2, Incarnation: 7, Flags: wire.FlagSealed, Tail: make([]byte, 100)}
	f.Add(uint8(wire.KindRequest), open.AppendTo(nil))
	f.Add(uint8(wire.KindRequest), sealed.AppendTo(nil))
	for p := range patterns.PatternTunnel + 1 {
		open.Pattern, sealed.Pattern = uint8(p), uint8(p)
		f.Add(uint8(wire.KindRequest), open.AppendTo(nil))
		f.Add(uint8(wire.KindRequest), sealed.AppendTo(nil))
	}
	f.Add(uint8(wire.KindReply), encodeReply(wire.Reply{ID: 1}, nil))
	f.Add(uint8(wire.KindCancel), wire.Cancel{ID: 1}.AppendTo(nil))
	f.Fuzz(func(t *testing.T, kind uint8, frame []byte) {
		w := newWireless()
		w.sent = func(wire.Kind, [][]byte) {}
		e := w.engineWith(t, func(c *request.Config) {
			c.Acceptor = openOnly{t}
			c.Keys = func(name string) *security.Cluster {
				if name == "open" {
					return derivedKeys(name)
				}
				return security.NewCluster(name, []security.KeyVersion{{Version: 1, Key: security.Key{1}}})
			}
		})
		took := func(context.Context, *patterns.Request) {}
		tunnel := func(context.Context, patterns.Tunnel) error { return nil }
		_, err := e.AddMember(1, "open", patterns.Service{Request: echo, Push: took, Broadcast: took, Tunnel: tunnel}, patterns.Limits{})
		require.NoError(t, err)
		never := func(context.Context, *patterns.Request) { t.Error("ran what nobody can have sealed") }
		_, err = e.AddMember(2, "sealed", patterns.Service{
			Push: never, Broadcast: never, Tunnel: tunnel,
			Request: func(ctx context.Context, r *patterns.Request) (patterns.Message, error) {
				never(ctx, r)
				return patterns.Message{}, nil
			},
		}, patterns.Limits{})
		require.NoError(t, err)
		if h := w.handlers[wire.Kind(kind)]; h != nil {
			h(w, frame)
		}
	})
}

// openOnly accepts tunnels to the open cluster, and no other may come.
type openOnly struct{ t *testing.T }

func (a openOnly) Accept(o request.Opening) ([]byte, error) {
	if o.Server.Name() != "open" {
		a.t.Error("a tunnel that nobody can have sealed")
	}
	return nil, nil
}

func TestAFloodOfGarbageLeavesHonestTrafficAlone(t *testing.T) {
	// This test sends every kind of frame, cut short at each length, and then
	// an honest request.
	w := newWireless()
	replies := make(chan []byte, 1000)
	w.sent = func(_ wire.Kind, parts [][]byte) { replies <- append([]byte(nil), parts[0]...) }
	e := w.engine(t)
	_, err := e.AddMember(1, "geo", patterns.ServiceOf(echo), patterns.Limits{})
	require.NoError(t, err)
	honest := wire.Request{ID: 99, Member: 1, Incarnation: 7, Tail: wire.AppendTail(nil, []wire.Header{{Key: "k", Value: "v"}}, []byte("x"))}
	honest.Deadline = w.LinkTime(time.Now().Add(time.Minute))
	whole := honest.AppendTo(nil)
	for n := range whole[:len(whole)-1] {
		for _, k := range []wire.Kind{wire.KindRequest, wire.KindReply, wire.KindCancel} {
			w.handlers[k](w, whole[:n:n])
		}
	}
	w.handlers[wire.KindRequest](w, whole)
	r, err := wire.DecodeReply(<-replies)
	require.NoError(t, err)
	require.Equal(t, uint64(99), r.ID)
	require.Equal(t, wire.OutcomeReply, r.Outcome)
}
