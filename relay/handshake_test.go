// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/relay/internal/proof"
)

// The tokens of these tests' relays.
const (
	sesame  = "open sesame, please"
	letters = "sixteen letters."
)

// guard has a relay listen at a loopback address, too, with both tokens.
func guard(cfg *relay.Config) {
	cfg.Listen, cfg.Tokens = "127.0.0.1:0", []relay.Token{{Name: "sesame", Secret: sesame}, {Name: "letters", Secret: letters}}
}

// prove says Hello with a proof of a token.
func (b *binding) prove(h wire.LeafHello, own proof.Proof) {
	b.t.Helper()
	h.Proof = own[:]
	b.say(h)
}

// challenge begins a handshake, and returns what the proofs are about and those of
// the relay.
func (b *binding) challenge() (proof.Exchange, wire.RelayProof) {
	b.t.Helper()
	var m wire.LeafChallenge
	_, _ = rand.Read(m.Nonce[:])
	b.send(wire.LaneCtl, wire.KindHello, &m)
	b.read()
	answer := expect(b, wire.KindHello, wire.DecodeRelayProof)
	return proof.Exchange{Client: m.Nonce, Relay: answer.Nonce, Address: proof.Address(b.conn.RemoteAddr())}, answer
}

// TestBothSidesProveTheToken proves the handshake over TCP: the relay shows that it
// has each of its tokens, and takes a client that shows that it has one.
func TestBothSidesProveTheToken(t *testing.T) {
	r, _ := start(t, guard)
	for i, token := range []string{sesame, letters} {
		b := dial(t, "tcp", r.Addr())
		x, answer := b.challenge()
		require.Len(t, answer.Proofs, 2)
		require.Equal(t, x.OfRelay(token), answer.Proofs[i])
		b.prove(hello(), x.OfClient(token))
		require.NotZero(t, expect(b, wire.KindHello, wire.DecodeRelayHello).Session)
	}
	require.Empty(t, r.Status().Drops)
}

// TestWithoutTheTokenNobodyAttaches proves what does not help who has no token, but
// has heard what others say: each is refused with the same words.
func TestWithoutTheTokenNobodyAttaches(t *testing.T) {
	r, _ := start(t, guard)
	end := dial(t, "tcp", r.Addr()).refused(hello())
	require.Equal(t, wire.EndToken, end.Code)
	require.Contains(t, end.Text, "no token")

	b := dial(t, "tcp", r.Addr())
	heard, _ := b.challenge()
	recorded := heard.OfClient(sesame)
	for name, shown := range map[string]func(x proof.Exchange, answer wire.RelayProof) proof.Proof{
		"another token":       func(x proof.Exchange, _ wire.RelayProof) proof.Proof { return x.OfClient(sesame + "!") },
		"what was recorded":   func(proof.Exchange, wire.RelayProof) proof.Proof { return recorded },
		"what the relay said": func(_ proof.Exchange, a wire.RelayProof) proof.Proof { return a.Proofs[0] },
		"a proof for another port": func(x proof.Exchange, _ wire.RelayProof) proof.Proof {
			x.Address = "127.0.0.1:1"
			return x.OfClient(sesame)
		},
		"zeros": func(proof.Exchange, wire.RelayProof) proof.Proof { return proof.Proof{} },
	} {
		b := dial(t, "tcp", r.Addr())
		x, answer := b.challenge()
		b.prove(hello(), shown(x, answer))
		end := b.goodbye()
		require.Equal(t, wire.EndToken, end.Code, name)
		require.Contains(t, end.Text, "wrong token", name)
	}

	h := hello() // nothing was asked, so that nothing is proven
	h.Proof = recorded[:]
	require.Equal(t, wire.EndToken, dial(t, "tcp", r.Addr()).refused(h).Code)
	require.Equal(t, map[string]uint64{"refused.token": 7}, r.Status().Drops)
}

// TestOnTheSocketATokenIsNotNeeded proves that a client there begins with its Hello,
// may prove a token, and is refused if it proves a wrong one.
func TestOnTheSocketATokenIsNotNeeded(t *testing.T) {
	_, cfg := start(t, func(cfg *relay.Config) { cfg.Tokens = []relay.Token{{Name: "sesame", Secret: sesame}} })
	attach(t, cfg.Socket)
	b := dial(t, "unix", cfg.Socket)
	x, _ := b.challenge()
	require.Empty(t, x.Address)
	b.prove(hello(), x.OfClient(letters))
	require.Equal(t, wire.EndToken, b.goodbye().Code)

	c, err := client.New(client.Config{Socket: cfg.Socket, Token: sesame})
	require.NoError(t, err)
	require.NoError(t, c.Start(t.Context()))
	require.NoError(t, c.Close())
}

// squatter listens where a relay should, hands each connection to serve, and
// remembers what came.
type squatter struct {
	net.Listener
	wg    sync.WaitGroup
	mu    sync.Mutex
	heard bytes.Buffer // guarded by mu
}

func squat(t *testing.T, serve func(s *squatter, conn net.Conn)) *squatter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &squatter{Listener: l}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() {
				defer conn.Close()
				serve(s, conn)
			})
		}
	})
	t.Cleanup(func() { l.Close(); s.wg.Wait() })
	return s
}

// Write remembers what came.
func (s *squatter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard.Write(p)
}

// TestASquatterLearnsNothing proves that who listens in place of the relay, whatever
// it answers, hears one challenge and not another byte: neither the token, nor a MAC
// made with it, nor the client's name or id; also if it passes everything on to the
// true relay.
func TestASquatterLearnsNothing(t *testing.T) {
	r, _ := start(t, guard)
	lie := wire.RelayProof{Proofs: make([][wire.LeafProofSize]byte, wire.MaxTokens)}
	for name, serve := range map[string]func(s *squatter, conn net.Conn){
		"says nothing": func(s *squatter, conn net.Conn) {
			_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			_, _ = io.Copy(s, conn)
		},
		"has no token": func(s *squatter, conn net.Conn) {
			_, _ = conn.Write(frame(wire.LaneCtl, wire.KindHello, &lie))
			_, _ = io.Copy(s, conn)
		},
		"says welcome": func(s *squatter, conn net.Conn) {
			_, _ = conn.Write(frame(wire.LaneCtl, wire.KindHello, &wire.RelayHello{Version: 1}))
			_, _ = io.Copy(s, conn)
		},
		"passes on": func(s *squatter, conn net.Conn) {
			relay, err := net.Dial("tcp", r.Addr())
			if err != nil {
				return
			}
			defer relay.Close()
			s.wg.Go(func() { _, _ = io.Copy(conn, relay) })
			_, _ = io.Copy(io.MultiWriter(s, relay), conn)
		},
	} {
		s := squat(t, serve)
		c, err := client.New(client.Config{Address: s.Addr().String(), Token: sesame, Name: "the name"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		err = c.Start(ctx)
		cancel()
		require.Error(t, err, name)
		if name == "has no token" || name == "passes on" {
			require.ErrorIs(t, err, client.ErrToken, name)
			require.ErrorIs(t, err, patterns.ErrUnauthorized, name)
		}
		require.NoError(t, c.Close())
		s.Close()
		s.wg.Wait()
		const challenge = 5 + 8 + wire.NonceSize
		heard := s.heard.Bytes()
		require.NotEmpty(t, heard, name)
		require.Zero(t, len(heard)%challenge, "%s: %q", name, heard)
		for ; len(heard) > 0; heard = heard[challenge:] {
			require.Equal(t, "arke-key", string(heard[5:13]), name)
		}
	}
}

// TestWeakTokensAreRefused proves what New does not take for a token, and that one
// prints as its name.
func TestWeakTokensAreRefused(t *testing.T) {
	n := lone(t)
	with := func(tokens ...relay.Token) error {
		_, err := relay.New(relay.Config{Node: n, Socket: "s", Tokens: tokens})
		return err
	}
	err := with(relay.Token{Name: "weak", Secret: "fifteen letters"})
	require.ErrorIs(t, err, relay.ErrWeakToken)
	require.ErrorContains(t, err, `"weak"`)
	require.NotContains(t, err.Error(), "fifteen letters")
	require.ErrorIs(t, with(relay.Token{}), relay.ErrWeakToken)
	require.NoError(t, with(relay.Token{Name: "a", Secret: letters}, relay.Token{Name: "b", Secret: sesame}))
	require.ErrorContains(t, with(relay.Token{Name: "a", Secret: letters}, relay.Token{Name: "a", Secret: sesame}), "twice")
	require.ErrorContains(t, with(relay.Token{Name: "a", Secret: letters}, relay.Token{Name: "b", Secret: letters}), "twice")
	require.Error(t, with(relay.Token{Name: "long", Secret: strings.Repeat("x", wire.MaxToken+1)}))
	require.Error(t, with(make([]relay.Token, wire.MaxTokens+1)...))
}
