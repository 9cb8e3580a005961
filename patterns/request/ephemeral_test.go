// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// ownKeys are those of withKey(5).
func ownKeys(name string) *security.Cluster {
	return security.NewCluster(name, []security.KeyVersion{{Version: 1, Key: security.Key{5}}})
}

// recorded is a request and its reply as they went over a link, and whose they were.
type recorded struct {
	from, to peer.ID
	request  wire.Request
	reply    wire.Reply
}

// record has f send from a to b, and returns the frames, in pairs.
func record(t *testing.T, w *world, a, b *fakeNode, f func()) (all []recorded) {
	t.Helper()
	replies := make(map[uint64]wire.Reply)
	w.set(a, b, func(l *fakeLink) {
		l.spoil = func(k wire.Kind, body []byte) []byte {
			if r, err := wire.DecodeRequest(bytes.Clone(body)); k == wire.KindRequest && err == nil {
				all = append(all, recorded{from: a.id, to: b.id, request: r})
			}
			return body
		}
	})
	w.set(b, a, func(l *fakeLink) {
		l.spoil = func(k wire.Kind, body []byte) []byte {
			if r, err := wire.DecodeReply(bytes.Clone(body)); k == wire.KindReply && err == nil {
				replies[r.ID] = r
			}
			return body
		}
	})
	f()
	w.set(a, b, func(l *fakeLink) { l.spoil = nil })
	w.set(b, a, func(l *fakeLink) { l.spoil = nil })
	for i := range all {
		all[i].reply = replies[all[i].request.ID]
	}
	return all
}

// opens says what of r somebody reads who has the cluster's key, and these ephemeral keys
// of the member's node; nil = none.
func (r *recorded) opens(keys *security.Cluster, e *security.Ephemerals) (request, reply bool) {
	b := security.Binding{
		Sender: r.from, SenderIncarnation: binary.BigEndian.Uint64(r.request.Tail), Member: r.request.Member,
		MemberIncarnation: r.request.Incarnation, RequestID: r.request.ID, Pattern: r.request.Pattern,
	}
	sealed := r.request.Tail[8:]
	if e != nil {
		var err error
		if b.Agreement, err = e.Agreed(keys, b, sealed); err != nil {
			return false, false
		}
	}
	_, err := keys.Open(b, sealed)
	request = err == nil
	b.Reply = true
	_, err = keys.Open(b, r.reply.Tail)
	return request, err == nil
}

func TestAClusterKeyThatLeaksLaterOpensNothingRecorded(t *testing.T) {
	// This test records what two nodes send each other in every pattern that is sealed
	// for one member, under a key of the cluster's own and under the network's where
	// all is sealed. Who gets that key later, by itself or with later ephemeral keys of
	// the member's node, opens nothing; with the ephemeral key that was used, while it
	// lives, everything: so it is the right bytes that were tried.
	for name, keys := range map[string]func(string) *security.Cluster{"own key": ownKeys, "derived key": derivedKeys} {
		t.Run(name, func(t *testing.T) {
			change := func(c *request.Config) { c.Keys, c.Seal, c.Acceptor = keys, request.SealAlways, &acceptor{} }
			inBubbleOf(t, change, change, func(t *testing.T, w *world, caller, host *fakeNode) {
				leaked := keys("geo")
				s, err := host.engine.AddMember(1, "geo", everyPattern, patterns.Limits{})
				require.NoError(t, err)
				w.serves(host, s)
				all := record(t, w, caller, host, func() {
					for _, p := range []patterns.Pattern{patterns.PatternRequest, patterns.PatternPush, patterns.PatternTunnel} {
						require.NoError(t, give(caller, p, secret))
					}
					for _, p := range []patterns.Pattern{patterns.PatternSurvey, patterns.PatternBroadcast} {
						n, err := toAll(caller, p)
						require.NoError(t, err)
						require.Equal(t, 1, n)
					}
				})
				require.Len(t, all, 5)
				later := security.NewEphemerals(overlay.NewRealRand().Stream("later"), time.Now())
				try := func(e *security.Ephemerals, want bool) {
					for _, r := range all {
						request, reply := r.opens(leaked, e)
						require.Equal(t, want, request, r.request.Pattern)
						require.Equal(t, want, reply, r.request.Pattern)
					}
				}
				try(nil, false)
				try(later, false)
				try(host.ephemerals, true)
				host.ephemerals.Advance(time.Now().Add(security.EphemeralTime))
				try(host.ephemerals, true)
				host.ephemerals.Advance(time.Now().Add(security.EphemeralTime + security.EphemeralOverlap))
				try(host.ephemerals, false)
			})
		})
	}
}

// everyPattern takes whatever comes.
var everyPattern = patterns.Service{
	Request: echo, Push: func(context.Context, *patterns.Request) {}, Broadcast: func(context.Context, *patterns.Request) {},
	Tunnel: func(context.Context, patterns.Tunnel) error { return nil },
}

// toAll asks every member.
func toAll(n *fakeNode, p patterns.Pattern) (answers int, err error) {
	took := func(_ *cluster.Member, _ request.Answer, err error) (bool, error) {
		if err == nil {
			answers++
		}
		return true, err
	}
	_, err = n.engine.AskAll(context.Background(), request.All{Cluster: "geo", Pattern: p, Message: secret, MaxBytes: 1 << 20}, took)
	return answers, err
}

func TestACallerWithAnOldRecordReachesTheMember(t *testing.T) {
	// This test has a caller whose record of the member is an hour old: it is served as
	// usual, and when the member's node has erased that key it is told the present one,
	// once. No handler runs twice, and the caller, whose request must not be repeated,
	// hears nothing of it.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		host.ephemerals.Advance(time.Now().Add(security.EphemeralTime))
		_, err := do(caller, secret)
		require.NoError(t, err)
		require.Empty(t, host.engine.Drops())

		host.ephemerals.Advance(time.Now().Add(security.EphemeralTime + security.EphemeralOverlap))
		for range 3 {
			reply, err := do(caller, secret)
			require.NoError(t, err)
			require.Equal(t, secret, reply)
		}
		require.Equal(t, map[string]uint64{"forgotten_key": 1}, host.engine.Drops())
		require.Empty(t, caller.engine.Drops())
		require.EqualValues(t, 4, host.engine.Status()[0].Handled)
		for _, p := range []patterns.Pattern{patterns.PatternSurvey, patterns.PatternBroadcast} {
			_, err := toAll(caller, p)
			require.Equal(t, p == patterns.PatternBroadcast, err != nil, "the member takes no broadcasts")
		}

		// The next key is in no record either; and when the record has come, it counts.
		host.ephemerals.Advance(time.Now().Add(3 * security.EphemeralTime))
		_, err = do(caller, secret)
		require.NoError(t, err)
		require.EqualValues(t, 2, host.engine.Drops()["forgotten_key"])
		w.mu.Lock()
		m := *w.members["geo"][0]
		w.mu.Unlock()
		w.unlist("geo", 1)
		w.list("geo", &m)
		_, err = do(caller, secret)
		require.NoError(t, err)
		require.EqualValues(t, 2, host.engine.Drops()["forgotten_key"])
	})
}

func TestAMemberThatForgetsEachKeyIsGivenUp(t *testing.T) {
	// This test has a member that tells a key and does not take it: it is asked twice, and
	// the request ends as one that nobody has seen.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		var asked int
		w.set(caller, host, func(l *fakeLink) {
			l.spoil = func(_ wire.Kind, body []byte) []byte {
				asked++
				now := time.Now().Add(time.Duration(asked) * 3 * security.EphemeralTime)
				host.ephemerals.Advance(now)
				host.ephemerals.Advance(now.Add(security.EphemeralTime + security.EphemeralOverlap))
				return body
			}
		})
		_, err := do(caller, secret)
		require.Equal(t, patterns.ErrUnreachable, err)
		require.Equal(t, 2, asked)
		require.Zero(t, host.engine.Status()[0].Handled)
	})
}

func TestNothingIsSealedWithTheClusterKeyAlone(t *testing.T) {
	// This test has a member whose record has no ephemeral key, and one that is sent a
	// request which was sealed without: neither is served.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.mu.Lock()
		w.members["geo"][0].Ephemeral = security.EphemeralKey{}
		w.mu.Unlock()
		seen := wiretap(w, caller, host)
		_, err := do(caller, secret)
		require.Equal(t, patterns.ErrUnreachable, err)
		require.Empty(t, *seen)
		require.Equal(t, map[string]uint64{"no_ephemeral_key": 1}, caller.engine.Drops())

		r := wire.Request{ID: 99, Member: 1, Incarnation: 7, Flags: wire.FlagSealed}
		b := security.Binding{Sender: caller.id, SenderIncarnation: 7, Member: 1, MemberIncarnation: 7, RequestID: 99}
		r.Tail = ownKeys("geo").Seal(overlay.NewRealRand().Stream("x"), b, binary.BigEndian.AppendUint64(nil, 7), []byte{0, 0})
		_, err = caller.link(host.id).Send(overlay.LaneRPC, wire.KindRequest, r.AppendTo(nil))
		require.NoError(t, err)
		time.Sleep(2 * w.latency)
		require.Equal(t, map[string]uint64{"unauthorized": 1}, host.engine.Drops())
	})
}

func TestAReplyThatComesHoursLaterOpens(t *testing.T) {
	// This test has a handler work for longer than an ephemeral key lives, within its
	// caller's deadline.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.unlist("geo", 1)
		w.member(host, 2, "geo", takes("late", 2*security.EphemeralTime), patterns.Limits{})
		w.wg.Go(func() {
			for range 3 {
				time.Sleep(security.EphemeralTime)
				caller.ephemerals.Advance(time.Now())
				host.ephemerals.Advance(time.Now())
			}
		})
		reply, err := caller.engine.Do(within(t, 3*security.EphemeralTime), "geo", secret, patterns.RequestOptions{})
		require.NoError(t, err)
		require.Equal(t, "late", string(reply.Body))
	})
}

func TestAnotherMemberIsSentWhatItsOwnNodeOpens(t *testing.T) {
	// This test has a request retried at a member of another node: it is sealed anew, for
	// that node's key, and opens there only.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		other := w.node("other", withKey(5))
		w.connect(caller, other)
		w.member(other, 2, "geo", echo, patterns.Limits{})
		require.NoError(t, w.servers[1].Drain(t.Context()))
		first := record(t, w, caller, host, func() {
			second := record(t, w, caller, other, func() {
				_, err := do(caller, secret)
				require.NoError(t, err)
			})
			require.Len(t, second, 1)
			keys := ownKeys("geo")
			request, _ := second[0].opens(keys, other.ephemerals)
			require.True(t, request)
			request, _ = second[0].opens(keys, host.ephemerals)
			require.False(t, request)
		})
		require.Len(t, first, 1)
		request, _ := first[0].opens(ownKeys("geo"), other.ephemerals)
		require.False(t, request)
	})
}
