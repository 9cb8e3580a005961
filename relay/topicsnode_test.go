// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
)

// This test has clients of three relays ask each other, push, broadcast and
// publish, over real nodes.
func TestClientsOfThreeRelaysReachEachOther(t *testing.T) {
	s := sites(t, 3, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	var pushes, broadcasts atomic.Int32
	for i := range s {
		_, err := s[i].client.Serve(ctx, "geo", patterns.Service{
			Request: func(_ context.Context, r *patterns.Request) (patterns.Message, error) {
				return patterns.Message{Body: []byte(r.Pattern.String())}, nil
			},
			Push:      func(context.Context, *patterns.Request) { pushes.Add(1) },
			Broadcast: func(context.Context, *patterns.Request) { broadcasts.Add(1) },
		}, patterns.Limits{})
		require.NoError(t, err)
	}
	eventually(t, func() bool {
		list, err := s[0].client.Members(ctx, "geo")
		return err == nil && len(list) == 3
	}, "not everybody is known")

	peers := map[string]bool{}
	result, err := s[0].client.Survey(ctx, "geo", patterns.Message{Body: []byte("hi")}, func(r patterns.SurveyReply) error {
		require.NoError(t, r.Err)
		require.Equal(t, "survey", string(r.Message.Body))
		peers[r.Peer] = true
		return nil
	}, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.Equal(t, patterns.SurveyResult{Replies: 3, Complete: true}, result)
	require.Len(t, peers, 3)

	require.NoError(t, s[1].client.Push(ctx, "geo", patterns.Message{Body: []byte("hi")}))
	took, err := s[2].client.Broadcast(ctx, "geo", patterns.Message{Body: []byte("hi")})
	require.NoError(t, err)
	require.Equal(t, patterns.BroadcastResult{Members: 3, Nodes: 3, Complete: true}, took)
	eventually(t, func() bool { return pushes.Load() == 1 && broadcasts.Load() == 3 }, "something is lost")

	listeners := make([]*listener, len(s))
	for i := range s {
		listeners[i] = &listener{}
		_, err := s[i].client.Subscribe(ctx, "orders.*", listeners[i], patterns.SubscribeOptions{NoEcho: i == 0})
		require.NoError(t, err)
	}
	const count = 500
	for i := range count {
		for s[0].client.TryPublish("orders.new", patterns.Message{Body: fmt.Append(nil, i)}) != nil {
			runtime.Gosched()
		}
	}
	require.NoError(t, s[0].client.Publish(ctx, "orders.new", patterns.Message{Body: []byte("last")}))
	for i, l := range listeners[1:] {
		eventually(t, func() bool { return len(l.all()) == count+1 }, "not all came")
		for n := range count {
			require.Equal(t, fmt.Sprint("orders.new ", n), l.all()[n], i)
		}
		require.Empty(t, l.gaps)
	}
	require.Empty(t, listeners[0].all(), "an echo")
}

// BenchmarkAttachedPublish measures messages from a client through its relay
// and two real nodes to a client of the other one; none may be lost.
func BenchmarkAttachedPublish(b *testing.B) {
	s := sites(b, 2, nil)
	for _, size := range []int{16, 1 << 10} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			var got atomic.Int64
			room := make(chan struct{}, 2000)
			topic := fmt.Sprintf("bench%d.x", size)
			sub, err := s[1].client.Subscribe(b.Context(), topic, patterns.SubscriberFunc(func(*patterns.Publication) {
				got.Add(1)
				<-room
			}), patterns.SubscribeOptions{})
			require.NoError(b, err)
			m := patterns.Message{Body: make([]byte, size)}
			room <- struct{}{} // the first one waits for the list of subscribers
			require.NoError(b, s[0].client.Publish(b.Context(), topic, m))
			sent := int64(1)
			b.ReportAllocs()
			for b.Loop() {
				room <- struct{}{}
				err := s[0].client.TryPublish(topic, m)
				if errors.Is(err, patterns.ErrWouldBlock) {
					err = s[0].client.Publish(b.Context(), topic, m)
				}
				require.NoError(b, err)
				sent++
			}
			require.Eventually(b, func() bool { return len(room) == 0 }, patience, time.Millisecond)
			require.Equal(b, sent, got.Load())
			require.Zero(b, sub.Status().Missed)
		})
	}
}

// BenchmarkAttachedSurvey measures a survey of three members that are clients
// of three relays.
func BenchmarkAttachedSurvey(b *testing.B) {
	s := sites(b, 3, nil)
	for i := range s {
		_, err := s[i].client.Serve(b.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{})
		require.NoError(b, err)
	}
	eventually(b, func() bool {
		list, err := s[0].client.Members(b.Context(), "geo")
		return err == nil && len(list) == 3
	}, "not everybody is known")
	b.ReportAllocs()
	for b.Loop() {
		result, err := s[0].client.Survey(b.Context(), "geo", patterns.Message{Body: []byte("hi")},
			func(patterns.SurveyReply) error { return nil }, patterns.SurveyOptions{})
		if err != nil || !result.Complete {
			b.Fatal(err, result)
		}
	}
}
