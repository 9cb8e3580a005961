// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// anyGreeting takes every greeting.
type anyGreeting struct{}

func (anyGreeting) Greet([]byte) (g [security.GreetingSize]byte) { return g }
func (anyGreeting) CheckGreeting(_, hello []byte) (uint64, bool) {
	sum := sha256.Sum256(hello)
	return binary.BigEndian.Uint64(sum[:]), true
}

// oneSided admits everybody but is admitted by nobody who looks: as a node
// whose key has been taken out of use, or a liar.
type oneSided struct{ anyGreeting }

func (oneSided) Admit(peer.ID) []byte                       { return []byte("no proof") }
func (oneSided) AdmittedBy(peer.ID, []byte) (uint32, error) { return 1, nil }

// strict refuses what oneSided shows.
type strict struct{ anyGreeting }

func (strict) Admit(peer.ID) []byte { return nil }
func (strict) AdmittedBy(_ peer.ID, proof []byte) (uint32, error) {
	if len(proof) > 0 {
		return 0, errors.New("not one of us")
	}
	return 1, nil
}

// undecided refuses everybody, but only once it is closed.
type undecided struct {
	anyGreeting
	decided chan struct{}
}

func (undecided) Admit(peer.ID) []byte { return nil }
func (u undecided) AdmittedBy(peer.ID, []byte) (uint32, error) {
	<-u.decided
	return 0, errors.New("not one of us")
}

type events chan string

func (e events) HandleStream(overlay.Stream) { e <- "stream" }
func (e events) PeerUp(peer.ID)              { e <- "up" }
func (e events) PeerDown(peer.ID)            { e <- "down" }
func (e events) Certificate() []byte         { return nil }
func (e events) Routes(peer.ID, []byte) bool { return true }

func startWith(t *testing.T, admitted admission) (*Host, events) {
	t.Helper()
	h := NewHost(t, NewNetwork(t))
	h.admitted = admitted
	e := make(events, 100)
	require.NoError(t, h.Start(e))
	return h, e
}

// This test checks that a node which is refused after its own half of the
// handshake is done, as TLS 1.3 allows, takes that for the refusal it is: no
// peer, no link, and an error that says so.
func TestRefusalAfterOurHalfOfTheHandshake(t *testing.T) {
	a, seenByA := startWith(t, oneSided{})
	b, seenByB := startWith(t, strict{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	_, err := a.Connect(ctx, overlay.Candidate{Peer: b.Self(), Addrs: b.Addrs()})
	require.ErrorIs(t, err, ErrRefused)
	_, err = a.Connect(ctx, overlay.Candidate{Addrs: b.Addrs()})
	require.ErrorIs(t, err, ErrRefused)
	s, err := a.Open(ctx, b.Self(), b.Addrs())
	if err == nil { // the refusal was not there yet
		_, err = s.Read(make([]byte, 1))
		require.NoError(t, s.Close())
	}
	require.ErrorIs(t, err, ErrRefused)

	require.NotZero(t, b.Counters()["handshake_refused"])
	time.Sleep(100 * time.Millisecond)
	require.Empty(t, seenByA)
	require.Empty(t, seenByB)
}

// This test checks that a connection which the other side has not agreed to
// yet counts for nothing when somebody connects to the address alone: libp2p
// calls such a peer connected, before its refusal and for a moment after it.
func TestConnectDoesNotTrustAConnectionThatIsNotConfirmed(t *testing.T) {
	decided := undecided{decided: make(chan struct{})}
	a, _ := startWith(t, oneSided{})
	b, _ := startWith(t, decided)
	decide := sync.OnceFunc(func() { close(decided.decided) })
	t.Cleanup(decide) // also after a failure: b could not be closed otherwise
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	results := make(chan error, 2)
	connect := func(c overlay.Candidate) {
		go func() {
			_, err := a.Connect(ctx, c)
			results <- err
		}()
	}
	connect(overlay.Candidate{Peer: b.Self(), Addrs: b.Addrs()})
	require.Eventually(t, func() bool {
		return a.current().swarm.Connectedness(b.Self()) == network.Connected
	}, 5*time.Second, time.Millisecond)
	connect(overlay.Candidate{Addrs: b.Addrs()})
	select {
	case err := <-results:
		require.FailNow(t, "Connect did not wait for the other side", "%v", err)
	case <-time.After(50 * time.Millisecond):
	}
	decide()
	for range 2 {
		require.ErrorIs(t, <-results, ErrRefused)
	}
}
