// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/policy"
)

// lawful is a policy from its text, without names of users.
func lawful(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(text, nil)
	require.NoError(t, err)
	return p
}

// under has the relay of a stage know two tokens, and keep to a policy.
func under(t *testing.T, text string) func(*relay.Config) {
	return func(cfg *relay.Config) {
		cfg.Tokens = []relay.Token{{Name: "ci", Secret: sesame}, {Name: "ops", Secret: letters}}
		cfg.Policy = lawful(t, text)
	}
}

// proving attaches with a token.
func (s *stage) proving(token string, h wire.LeafHello) *binding {
	s.t.Helper()
	b := s.dial()
	x, _ := b.challenge()
	b.prove(h, x.OfClient(token))
	b.welcome = expect(b, wire.KindHello, wire.DecodeRelayHello)
	return b
}

// TestThePolicyHoldsForEverything proves that each way to use a name needs a right,
// and that who has none hears so, in words, with the outcome "unauthorized".
func TestThePolicyHoldsForEverything(t *testing.T) {
	rules := `token ci may call geo
		token ci may publish, subscribe a.*
		token ci may serve geo
		token ops may call $status $members`
	play(t, under(t, rules), func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		s.serveEcho("shop")
		ci, ops, nobody := s.proving(sesame, hello()), s.proving(letters, hello()), s.attach()
		id := uint64(0)
		ask := func(b *binding, pattern uint8, cluster, body string) wire.Reply {
			id++
			b.request(wire.Request{ID: id, Pattern: pattern, Route: &wire.Route{Cluster: cluster}, Tail: tail(body)})
			for {
				if r := b.reply(); r.Flags&wire.FlagMoreReplies == 0 {
					require.Equal(t, id, r.ID)
					return r
				}
			}
		}
		opening := wire.TunnelOpen{ID: 9, Credit: 65536}
		for pattern, body := range []string{"hi", "hi", "hi", "hi", string(opening.AppendTo(nil))} {
			r := ask(ci, uint8(pattern), "shop", body)
			require.Equal(t, wire.OutcomeUnauthorized, r.Outcome, "pattern %d", pattern)
			require.Zero(t, r.Flags&wire.FlagMaybeRan)
			require.Contains(t, bodyOf(t, r.Tail), `the policy of this relay does not let token ci call "shop"`)
			require.NotEqual(t, wire.OutcomeUnauthorized, ask(ci, uint8(pattern), "geo", body).Outcome, "pattern %d", pattern)
			require.Equal(t, wire.OutcomeUnauthorized, ask(nobody, uint8(pattern), "geo", body).Outcome, "pattern %d", pattern)
		}
		require.Zero(t, ask(ci, 0, "$members", "geo").Outcome, "who calls it may know who serves it")
		r := ask(ci, 0, "$members", "shop")
		require.Equal(t, wire.OutcomeUnauthorized, r.Outcome)
		require.Contains(t, bodyOf(t, r.Tail), `see who serves "shop"`)
		require.Equal(t, wire.OutcomeUnauthorized, ask(ci, 0, "$status", "").Outcome)
		require.Zero(t, ask(ops, 0, "$members", "shop").Outcome)
		require.Contains(t, bodyOf(t, ask(ops, 0, "$status", "").Tail), `"who":"token ci"`)
		require.Equal(t, wire.OutcomeUnauthorized, ask(ops, 0, "geo", "").Outcome)

		for cluster, want := range map[string]wire.Outcome{"geo": 0, "shop": wire.OutcomeUnauthorized} {
			id++
			require.Equal(t, want, ci.tryServe(wire.Serve{ID: id, Cluster: cluster, Patterns: 1}).Outcome, cluster)
		}
		for pattern, want := range map[string]wire.Outcome{
			"a.b": 0, "a.*": 0, "a.>": wire.OutcomeUnauthorized, "*.b": wire.OutcomeUnauthorized, "b.b": wire.OutcomeUnauthorized,
		} {
			for _, options := range []uint8{0, wire.SubscribeBlocks} {
				id++
				require.Equal(t, want, ci.trySubscribe(wire.Subscribe{ID: id, Pattern: pattern, Options: options}).Outcome, pattern)
			}
		}
		publish := func(id uint64, topic string) wire.Done {
			ci.publish(id, topic, "yo")
			return behind(ci, wire.KindDone, wire.DecodeDone)
		}
		require.Zero(t, publish(100, "a.b").Outcome)
		for _, id := range []uint64{0, 101} {
			d := publish(id, "b.b")
			require.Equal(t, id, d.ID)
			require.Equal(t, wire.OutcomeUnauthorized, d.Outcome)
			require.Contains(t, d.Text, `publish to "b.b"`)
		}
		status := s.relay.Status()
		require.Equal(t, map[string]uint64{
			"call.not_allowed": 5 + 5 + 3, "serve.not_allowed": 1, "subscribe.not_allowed": 6, "publish.not_allowed": 2,
		}, status.Drops)
		require.Equal(t, 4, status.Policy.Rules)
		require.Equal(t, uint64(10), status.Policy.Refused, "each question is decided once")
	})
}

// TestANewPolicyHoldsAtOnce proves that a policy that is replaced decides the next
// question, that who has what it may not have any more loses its session and is told
// why, and that others notice nothing.
func TestANewPolicyHoldsAtOnce(t *testing.T) {
	play(t, under(t, "anyone may serve, call, publish, subscribe >"), func(t *testing.T, s *stage) {
		s.serveEcho("shop")
		server, subscriber, caller := s.proving(sesame, hello()), s.proving(sesame, hello()), s.proving(letters, hello())
		server.register(1, "geo")
		require.Zero(t, subscriber.trySubscribe(wire.Subscribe{ID: 1, Pattern: "news.>"}).Outcome)
		require.Zero(t, caller.call(1, "shop", "hi").Outcome)

		require.ErrorContains(t, s.relay.SetPolicy(lawful(t, "token who may call geo")), "token who")
		require.NoError(t, s.relay.SetPolicy(lawful(t, "token ops may call geo\ntoken ci may serve geo\ntoken ci may subscribe news.today")))
		require.Equal(t, wire.OutcomeUnauthorized, caller.call(2, "shop", "hi").Outcome)
		caller.ask(3, "geo", "hi")
		server.answer(server.delivery())
		require.Zero(t, caller.reply().Outcome)
		end := subscriber.goodbye()
		require.Equal(t, wire.EndOther, end.Code)
		require.Contains(t, end.Text, "policy")

		require.NoError(t, s.relay.SetPolicy(nil))
		require.Zero(t, caller.call(4, "shop", "hi").Outcome, "without a policy all may everything")
	})
}

// TestAnIDIsNoWayToAnothersRights proves that who comes with the id and session of a
// client, but is somebody else, gets neither.
func TestAnIDIsNoWayToAnothersRights(t *testing.T) {
	play(t, under(t, "token ci may call geo"), func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		ci := s.proving(sesame, hello())
		h := hello()
		h.Leaf, h.Session = ci.welcome.Leaf, ci.welcome.Session
		for _, thief := range []*binding{s.proving(letters, h), s.dial().greet(h)} {
			require.NotEqual(t, ci.welcome.Session, thief.welcome.Session)
			require.NotEqual(t, ci.welcome.Leaf, thief.welcome.Leaf)
			require.Equal(t, wire.OutcomeUnauthorized, thief.call(1, "geo", "hi").Outcome)
		}
		require.Zero(t, ci.call(1, "geo", "hi").Outcome, "the true one is unhurt")
		require.Equal(t, ci.welcome.Session, s.proving(sesame, h).welcome.Session)
	})
}

// TestDecisionsAreLogged proves that the log says who was refused what and why, once
// for each name, and not without end.
func TestDecisionsAreLogged(t *testing.T) {
	core, logs := observer.New(zap.DebugLevel)
	change := func(cfg *relay.Config) {
		under(t, "token ci may call geo")(cfg)
		cfg.Logger = zap.New(core)
	}
	play(t, change, func(t *testing.T, s *stage) {
		s.serveEcho("geo")
		ci := s.proving(sesame, hello())
		for i, name := range []string{"shop", "geo", "shop"} {
			ci.call(uint64(i), name, "hi")
		}
		refused := logs.FilterMessage("refused").All()
		require.Len(t, refused, 1)
		require.Equal(t, zap.WarnLevel, refused[0].Level)
		fields := refused[0].ContextMap()
		require.Equal(t, []any{"test", "token ci", "call", "shop", "no rule of the policy allows it"},
			[]any{fields["client"], fields["who"], fields["verb"], fields["name"], fields["why"]})
		allowed := logs.FilterMessage("allowed").All()
		require.Len(t, allowed, 1)
		require.Equal(t, "line 1 of the policy allows it, for token ci", allowed[0].ContextMap()["why"])

		for i := range uint64(200) {
			ci.call(10+i, "shop"+string(rune('a'+i)), "hi")
		}
		require.Len(t, logs.FilterLevelExact(zap.WarnLevel).All(), 64)
		require.Equal(t, uint64(202), s.relay.Status().Drops["call.not_allowed"])
	})
}

// TestAPolicyNeedsItsTokens proves that New refuses a policy with rules for a token
// that the relay does not have: nobody could use them.
func TestAPolicyNeedsItsTokens(t *testing.T) {
	_, err := relay.New(relay.Config{Node: lone(t), Socket: "s", Policy: lawful(t, "token ci may call geo")})
	require.ErrorContains(t, err, "token ci")
}
