// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"bytes"
	"encoding/binary"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/security"
)

// withKey gives a node that key of every cluster; 0 = the derived one.
func withKey(b byte) func(*request.Config) {
	if b == 0 {
		return nil
	}
	return func(c *request.Config) {
		c.Keys = func(name string) *security.Cluster {
			return security.NewCluster(name, []security.KeyVersion{{Version: 1, Key: security.Key{b}}})
		}
	}
}

// sealedPair runs f with two nodes that hold these keys of the cluster; 0 =
// derived.
func sealedPair(t *testing.T, callerKey, hostKey byte, f func(t *testing.T, w *world, caller, host *fakeNode)) {
	t.Helper()
	inBubbleOf(t, withKey(callerKey), withKey(hostKey), func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 1, "geo", echo, patterns.Limits{MessageBytes: 1 << 20})
		f(t, w, caller, host)
	})
}

// wiretap collects what both sides send.
func wiretap(w *world, a, b *fakeNode) *[][]byte {
	var seen [][]byte
	tap := func(l *fakeLink) {
		l.spoil = func(_ wire.Kind, body []byte) []byte {
			seen = append(seen, bytes.Clone(body)) // it is opened in place
			return body
		}
	}
	w.set(a, b, tap)
	w.set(b, a, tap)
	return &seen
}

var secret = patterns.Message{
	Headers: patterns.Headers{{Key: "traceparent", Value: "header-secret"}}, Body: []byte("body-secret"),
}

func contains(frames [][]byte, text string) bool {
	return bytes.Contains(bytes.Join(frames, nil), []byte(text))
}

func TestWhatIsAddressedToAClusterWithItsOwnKeyIsSealed(t *testing.T) {
	// This test checks that headers and body cross the link as ciphertext in
	// both directions, that errors do too, and that this is so for a derived
	// key only where the node was told to.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		seen := wiretap(w, caller, host)
		reply, err := do(caller, secret)
		require.NoError(t, err)
		require.Equal(t, secret, reply)
		require.Len(t, *seen, 2)
		require.False(t, contains(*seen, "secret") || contains(*seen, "traceparent"))
		require.NotZero(t, (*seen)[0][32]&wire.FlagSealed)

		_, err = do(caller, patterns.Message{Body: make([]byte, 1<<20)})
		require.NoError(t, err, "the seal does not count")
		reply, err = do(caller, patterns.Message{})
		require.NoError(t, err)
		require.Empty(t, reply.Body)
	})
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.unlist("geo", 1)
		w.member(host, 2, "geo", failing(&patterns.RemoteError{Code: 100, Message: "error-secret"}), patterns.Limits{})
		seen := wiretap(w, caller, host)
		_, err := do(caller, secret)
		require.Equal(t, &patterns.RemoteError{Cluster: "geo", Code: 100, Message: "error-secret"}, err)
		require.False(t, contains(*seen, "secret"))
	})
	sealedPair(t, 0, 0, func(t *testing.T, w *world, caller, host *fakeNode) {
		seen := wiretap(w, caller, host)
		_, err := do(caller, secret)
		require.NoError(t, err)
		require.True(t, contains(*seen, "body-secret") && contains(*seen, "header-secret"), "the link itself is encrypted")
	})
	inWorldWith(t, request.SealAlways, func(t *testing.T, w *world, caller, host *fakeNode) {
		lax := w.node("lax", nil)
		w.connect(lax, host)
		w.member(host, 1, "geo", echo, patterns.Limits{})
		seen := wiretap(w, caller, host)
		reply, err := do(caller, secret)
		require.NoError(t, err)
		require.Equal(t, secret, reply)
		require.False(t, contains(*seen, "secret"))
		_, err = do(lax, secret)
		require.Equal(t, patterns.ErrUnauthorized, err)
	})
}

func TestWhoLacksTheKeyIsRefused(t *testing.T) {
	// This test checks callers with another key and with none: no handler
	// runs.
	for _, key := range []byte{6, 0} {
		sealedPair(t, key, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
			_, err := do(caller, secret)
			require.Equal(t, patterns.ErrUnauthorized, err)
			require.Equal(t, map[string]uint64{"unauthorized": 1}, host.engine.Drops())
			require.Zero(t, host.engine.Status()[0].Handled)
		})
	}
	sealedPair(t, 5, 0, func(t *testing.T, w *world, caller, host *fakeNode) {
		_, err := do(caller, secret)
		require.Equal(t, patterns.ErrUnauthorized, err)
	})
}

func TestASealedRequestIsGoodForOneUse(t *testing.T) {
	// This test replays and redirects a sealed request: to the same member, to
	// another one, under another id, by another node, and after a change.
	sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
		w.member(host, 2, "geo", echo, patterns.Limits{})
		thief := w.node("thief", withKey(6))
		w.connect(thief, host)
		seen := wiretap(w, caller, host)
		_, err := do(caller, secret)
		require.NoError(t, err)
		original := (*seen)[0]
		w.set(caller, host, func(l *fakeLink) { l.spoil = nil })
		change := func(at int) []byte {
			b := bytes.Clone(original)
			b[at] ^= 3
			return b
		}
		for name, test := range map[string]struct {
			from   *fakeNode
			frame  []byte
			reason string
		}{
			"again":              {caller, original, "replay"},
			"under another id":   {caller, change(7), "unauthorized"},
			"to another member":  {caller, change(15), "unauthorized"},
			"by another node":    {thief, original, "unauthorized"},
			"incarnation":        {caller, change(44), "unauthorized"},
			"as a push":          {caller, change(34), "unauthorized"},
			"ciphertext":         {caller, change(len(original) - 1), "unauthorized"},
			"to another start":   {caller, change(23), "no_such_member"},
			"shorter than short": {caller, original[:39], "unauthorized"},
		} {
			before := host.engine.Drops()[test.reason]
			_, err := test.from.link(host.id).Send(0, wire.KindRequest, test.frame)
			require.NoError(t, err)
			synctest.Wait()
			for host.engine.Drops()[test.reason] == before {
				w.ask(caller, t.Context(), patterns.Message{}) // lets time pass
				require.EqualValues(t, before+1, host.engine.Drops()[test.reason], name)
			}
		}
		for _, s := range host.engine.Status() {
			if s.Member == "0000000000000002" {
				require.Zero(t, s.Handled)
			}
		}
	})
}

func TestOnlyASealedReplyIsBelieved(t *testing.T) {
	// This test spoils replies to a sealed request: each counts as
	// interrupted, because the handler has run.
	for name, spoil := range map[string]func([]byte) []byte{
		"changed":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"in clear": func(b []byte) []byte { return encodeReply(wire.Reply{ID: binary.BigEndian.Uint64(b)}, []byte("lie")) },
		"another's": func(b []byte) []byte {
			b[7]++ // of the request before, under this one's id
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			sealedPair(t, 5, 5, func(t *testing.T, w *world, caller, host *fakeNode) {
				var first []byte
				w.set(host, caller, func(l *fakeLink) {
					l.spoil = func(_ wire.Kind, body []byte) []byte {
						if first == nil {
							first = bytes.Clone(body)
							return body
						}
						if name == "another's" {
							return spoil(first)
						}
						return spoil(body)
					}
				})
				_, err := do(caller, secret)
				require.NoError(t, err)
				_, err = do(caller, secret)
				require.Equal(t, patterns.ErrInterrupted, err)
				require.Equal(t, map[string]uint64{"reply_bad": 1}, caller.engine.Drops())
			})
		})
	}
}
