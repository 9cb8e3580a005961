// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/raced"
	"github.com/arke-mesh/arke/security"
)

// pair is the nodes of a caller and of a member, with what both have of the cluster.
type pair struct {
	caller, member   *security.Ephemerals
	callers, members *security.Cluster
	callerRand       *stream
	b                security.Binding
}

func newPair(t testing.TB) *pair {
	t.Helper()
	return &pair{
		caller: security.NewEphemerals(seeded("caller"), noon), member: security.NewEphemerals(seeded("member"), noon),
		callers: security.NewCluster("geo", versions(1)), members: security.NewCluster("geo", versions(1)),
		callerRand: seeded("salt"), b: newBinding(t),
	}
}

// seal is what the caller sends: a request for the key that the member has now.
func (p *pair) seal(t testing.TB, plain string) (sealed []byte, b security.Binding) {
	t.Helper()
	b = p.b
	var err error
	b.Agreement, err = p.caller.With(p.member.Public())
	require.NoError(t, err)
	return p.callers.Seal(p.callerRand, b, nil, []byte(plain)), b
}

// open is what the member does with it.
func (p *pair) open(sealed []byte) (plain []byte, b security.Binding, err error) {
	b = p.b
	if b.Agreement, err = p.member.Agreed(p.members, b, sealed); err != nil {
		return nil, b, err
	}
	plain, err = p.members.Open(b, sealed)
	return plain, b, err
}

// TestErasedKeysOpenNothing proves that a node which has erased its keys, as when it ends,
// opens nothing that was sealed for it before, and seals nothing with them.
func TestErasedKeysOpenNothing(t *testing.T) {
	p := newPair(t)
	first, b := p.seal(t, "one")
	_, at, err := p.open(first)
	require.NoError(t, err)
	second, _ := p.seal(t, "two")
	p.member.Erase()
	p.member.Erase()
	_, _, err = p.open(second)
	require.ErrorIs(t, err, security.ErrForgotten)
	_, err = p.members.Open(at, first)
	require.Error(t, err, "what was agreed on is overwritten")
	_, err = p.member.With(p.caller.Public())
	require.ErrorIs(t, err, security.ErrForgotten)
	_, err = p.callers.Open(b, first)
	require.NoError(t, err, "the caller's are its own")
}

// TestBothNodesOpenWhatTheyHaveAgreedOn proves the round trip of requests and replies, with
// the overhead that is promised, and in place.
func TestBothNodesOpenWhatTheyHaveAgreedOn(t *testing.T) {
	p := newPair(t)
	for _, text := range []string{"", "x", strings.Repeat("long", 50_000)} {
		sealed, b := p.seal(t, text)
		require.Len(t, sealed, len(text)+security.AgreedOverhead)
		plain, at, err := p.open(sealed)
		require.NoError(t, err)
		require.Equal(t, text, string(plain))

		at.Reply, b.Reply = true, true
		reply := p.members.Seal(seeded("reply"), at, []byte("before"), []byte(text))
		require.Len(t, reply, len("before")+len(text)+security.SealOverhead)
		reply = reply[len("before"):]
		plain, err = p.callers.Open(b, reply)
		require.NoError(t, err)
		require.Equal(t, text, string(plain))
		plain, err = p.callers.OpenInPlace(b, reply)
		require.NoError(t, err)
		require.Equal(t, text, string(plain))
		require.Equal(t, text, string(reply[len(reply)-len(text)-16:][:len(text)]))
		at.Reply, b.Reply = false, false
		plain, err = p.members.OpenInPlace(at, sealed)
		require.NoError(t, err)
		require.Equal(t, text, string(plain))
	}
}

// TestTheClusterKeyAloneOpensNothing proves that who has recorded a request and its reply
// and gets the cluster's key and the network's later, and any ephemeral keys but
// those two, can't open them; and that the same bytes do open while the keys live.
func TestTheClusterKeyAloneOpensNothing(t *testing.T) {
	p := newPair(t)
	request, b := p.seal(t, "request")
	_, at, err := p.open(request)
	require.NoError(t, err)
	at.Reply = true
	reply := p.members.Seal(seeded("reply"), at, nil, []byte("reply"))

	leaked := security.NewCluster("geo", versions(1))
	thief := security.NewEphemerals(seeded("thief"), noon)
	for name, agreement := range map[string]func() (*security.Agreement, error){
		"with nothing":           func() (*security.Agreement, error) { return nil, nil },
		"as the member":          func() (*security.Agreement, error) { return thief.Agreed(leaked, p.b, request) },
		"with the member's key":  func() (*security.Agreement, error) { return thief.With(p.member.Public()) },
		"with the caller's key":  func() (*security.Agreement, error) { return thief.With(p.caller.Public()) },
		"with another agreement": func() (*security.Agreement, error) { return thief.With(thief.Public()) },
	} {
		a, err := agreement()
		if err != nil {
			require.ErrorIs(t, err, security.ErrForgotten, name)
			continue
		}
		stolen := p.b
		stolen.Agreement = a
		_, err = leaked.Open(stolen, request)
		require.ErrorIs(t, err, security.ErrUnauthorized, name)
		stolen.Reply = true
		_, err = leaked.Open(stolen, reply)
		require.ErrorIs(t, err, security.ErrUnauthorized, name)
	}
	_, err = leaked.Open(p.b, request)
	require.ErrorIs(t, err, security.ErrUnauthorized)

	// While the ephemeral keys live, the cluster's key opens what they have: the test above
	// has tried the true bytes.
	_, err = leaked.Open(at, reply)
	require.NoError(t, err)
	b.Reply = true
	_, err = p.callers.Open(b, reply)
	require.NoError(t, err)

	// And when they do not, nobody does, the two nodes themselves included.
	later := noon.Add(security.EphemeralTime + security.EphemeralOverlap)
	p.caller.Advance(later)
	p.member.Advance(later)
	_, _, err = p.open(request)
	require.ErrorIs(t, err, security.ErrForgotten)
	for _, c := range []*security.Cluster{leaked, p.callers, p.members} {
		for _, erased := range []security.Binding{at, b} {
			_, err = c.Open(erased, reply)
			require.ErrorIs(t, err, security.ErrUnauthorized)
			erased.Reply = false
			_, err = c.Open(erased, request)
			require.ErrorIs(t, err, security.ErrUnauthorized)
		}
	}
	sealed := p.members.Seal(seeded("late"), at, nil, []byte("too late"))
	_, err = p.callers.Open(b, sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized, "what is sealed after that is for nobody")
}

// TestEphemeralKeysLiveForAnHour proves when a key is replaced and erased, for a caller
// that has it still, and for a request with a later deadline.
func TestEphemeralKeysLiveForAnHour(t *testing.T) {
	hour, overlap := security.EphemeralTime, security.EphemeralOverlap
	p := newPair(t)
	first := p.member.Public()
	sealed, b := p.seal(t, "one")
	_, at, err := p.open(sealed)
	require.NoError(t, err)

	next, changed := p.member.Advance(noon.Add(hour - 1))
	require.False(t, changed)
	require.Equal(t, noon.Add(hour), next)
	next, changed = p.member.Advance(noon.Add(hour))
	require.True(t, changed)
	require.NotEqual(t, first, p.member.Public())
	require.Equal(t, noon.Add(hour+overlap), next)

	// Who has not heard of the next key reaches the member with the one before, whether it
	// has before or not.
	for _, caller := range []*security.Ephemerals{p.caller, security.NewEphemerals(seeded("late"), noon)} {
		late := p.b
		late.Agreement, err = caller.With(first)
		require.NoError(t, err)
		_, _, err = p.open(p.callers.Seal(seeded("x"), late, nil, nil))
		require.NoError(t, err)
	}

	// A deadline within the overlap changes nothing; a later one keeps what its reply
	// needs, and only that.
	at.Agreement.Keep(noon.Add(hour + overlap - time.Second))
	at.Agreement.Keep(noon.Add(3 * hour))
	at.Agreement.Keep(noon.Add(2 * hour))
	b.Agreement.Keep(noon.Add(3 * hour))
	next, _ = p.member.Advance(noon.Add(hour + overlap))
	require.Equal(t, noon.Add(2*hour), next, "the next key")
	p.caller.Advance(noon.Add(hour + overlap))
	_, _, err = p.open(sealed)
	require.ErrorIs(t, err, security.ErrForgotten, "nothing new is taken for the old key")
	b.Reply, at.Reply = true, true
	reply := func() error {
		_, err := p.callers.Open(b, p.members.Seal(seeded("y"), at, nil, nil))
		return err
	}
	require.NoError(t, reply())
	p.member.Advance(noon.Add(3*hour - 1))
	require.NoError(t, reply())
	p.member.Advance(noon.Add(3 * hour))
	require.ErrorIs(t, reply(), security.ErrUnauthorized)
}

// TestAgreementsAreMadeOnce proves that a pair of nodes agrees once for each pair of keys,
// whoever of many is first, and that what many send at once opens.
func TestAgreementsAreMadeOnce(t *testing.T) {
	p := newPair(t)
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		all = make(map[*security.Agreement]int)
	)
	for range 8 {
		wg.Go(func() {
			asks, err := p.caller.With(p.member.Public())
			if err != nil {
				t.Error(err)
			}
			b := p.b
			b.Agreement = asks
			sealed := p.callers.Seal(seeded("salt"), b, nil, []byte("x"))
			_, b, err = p.open(sealed)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all[asks]++
			all[b.Agreement]++
		})
	}
	wg.Wait()
	require.Len(t, all, 2)
	require.Equal(t, p.member.Public(), p.agreement(t).Member())
}

func (p *pair) agreement(t *testing.T) *security.Agreement {
	a, err := p.caller.With(p.member.Public())
	require.NoError(t, err)
	return a
}

// TestWhatIsAgreedOnIsBoundToItsRequest proves that each field of the binding, each bit, and
// the length count, and that nothing can be moved between directions, members' nodes,
// hours, clusters and networks.
func TestWhatIsAgreedOnIsBoundToItsRequest(t *testing.T) {
	p := newPair(t)
	sealed, b := p.seal(t, "payload")
	_, at, err := p.open(sealed)
	require.NoError(t, err)
	other := newPeer(t, "other")
	for field, change := range map[string]func(*security.Binding){
		"sender":             func(b *security.Binding) { b.Sender = other },
		"sender incarnation": func(b *security.Binding) { b.SenderIncarnation++ },
		"member":             func(b *security.Binding) { b.Member++ },
		"member incarnation": func(b *security.Binding) { b.MemberIncarnation++ },
		"request id":         func(b *security.Binding) { b.RequestID++ },
		"direction":          func(b *security.Binding) { b.Reply = !b.Reply },
		"pattern":            func(b *security.Binding) { b.Pattern++ },
		"no agreement":       func(b *security.Binding) { b.Agreement = nil },
	} {
		changed := at
		change(&changed)
		_, err := p.members.Open(changed, sealed)
		require.ErrorIs(t, err, security.ErrUnauthorized, field)
	}
	forEachChange(sealed, func(changed []byte) {
		_, _, err := p.open(changed)
		require.Error(t, err)
		_, err = p.members.Open(at, changed)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	})

	again, _ := p.seal(t, "payload")
	splice := bytes.Clone(sealed)
	copy(splice[41:], again[41:]) // the next one's ciphertext
	_, _, err = p.open(splice)
	require.ErrorIs(t, err, security.ErrUnauthorized, "another request's ciphertext")
	elsewhere := *p
	elsewhere.member = security.NewEphemerals(seeded("elsewhere"), noon)
	_, _, err = elsewhere.open(sealed)
	require.ErrorIs(t, err, security.ErrForgotten, "another member's node")
	foreign := *p
	foreign.members = security.NewCluster("geo2", versions(1))
	_, _, err = foreign.open(sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized, "another cluster")
	foreign.members = newNetwork(t, newFile(t, "net")).Cluster("geo")
	_, _, err = foreign.open(sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized, "another network")

	p.member.Advance(noon.Add(security.EphemeralTime))
	next, _ := p.seal(t, "payload")
	splice = bytes.Clone(next)
	copy(splice[:81], sealed[:81]) // of the hour before
	_, _, err = p.open(splice)
	require.ErrorIs(t, err, security.ErrUnauthorized, "another hour")
	_, err = p.member.Agreed(p.members, p.b, p.callers.Seal(seeded("plain"), p.b, nil, nil))
	require.ErrorIs(t, err, security.ErrUnauthorized, "what is sealed with the cluster's key alone is not taken")
	b.Reply = true
	_, err = p.members.Open(b, sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized, "a request is no reply")
}

// TestWhoLacksTheClusterKeyMakesNobodyAgree proves that a node without the key learns
// nothing of a member's keys and has it do no arithmetic, also where the member's
// key is gone.
func TestWhoLacksTheClusterKeyMakesNobodyAgree(t *testing.T) {
	p := newPair(t)
	p.callers = security.NewCluster("geo", []security.KeyVersion{{Version: 1, Key: newKey("x")}})
	sealed, _ := p.seal(t, "x")
	_, _, err := p.open(sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	id := p.members.KeyID()
	copy(sealed[1:], id[:]) // the id of a key is no secret
	_, _, err = p.open(sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	p.member = security.NewEphemerals(seeded("restarted"), noon)
	_, _, err = p.open(sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized)
}

// TestBadEphemeralKeysAreRefused proves that points of low order, which would make the
// secret known, and none at all are refused.
func TestBadEphemeralKeysAreRefused(t *testing.T) {
	p := newPair(t)
	for _, bad := range []security.EphemeralKey{{}, {1}} {
		_, err := p.caller.With(bad)
		require.ErrorIs(t, err, security.ErrUnauthorized)
	}
	for _, b := range [][]byte{nil, make([]byte, 31), make([]byte, 32), make([]byte, 33)} {
		_, ok := security.ParseEphemeralKey(b)
		require.False(t, ok)
	}
	public := p.caller.Public()
	k, ok := security.ParseEphemeralKey(public[:])
	require.True(t, ok)
	require.Equal(t, public, k)
}

// TestARetiredClusterKeyOpensNothingByAnAgreement proves that a key of the cluster that
// counts no more is refused, whatever was agreed on under it.
func TestARetiredClusterKeyOpensNothingByAnAgreement(t *testing.T) {
	p := newPair(t)
	sealed, _ := p.seal(t, "x")
	_, at, err := p.open(sealed)
	require.NoError(t, err)
	_, err = p.members.SetKeys(versions(2), noon)
	require.NoError(t, err)
	_, _, err = p.open(sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized)
	_, err = p.members.Open(at, sealed)
	require.ErrorIs(t, err, security.ErrUnauthorized)
}

// FuzzAgreed proves that no bytes make a member panic, and that none but the honest ones
// open.
func FuzzAgreed(f *testing.F) {
	p := newPair(f)
	honest, _ := p.seal(f, "payload")
	f.Add(honest)
	f.Add(honest[:90])
	f.Add(p.callers.Seal(seeded("plain"), p.b, nil, nil))
	f.Fuzz(func(t *testing.T, sealed []byte) {
		if _, _, err := p.open(sealed); err == nil {
			require.Equal(t, honest, sealed)
		}
	})
}

// TestSealingAndOpeningAllocateNothing proves that a payload of a request costs no memory
// but its own, once its two nodes have agreed.
func TestSealingAndOpeningAllocateNothing(t *testing.T) {
	if raced.Enabled {
		t.Skip("the race detector has pools forget")
	}
	p := newPair(t)
	for _, size := range []int{16, 1 << 10, 64 << 10} {
		plain := make([]byte, size)
		sealed, binding := p.seal(t, string(plain))
		_, at, err := p.open(sealed)
		require.NoError(t, err)
		dst := make([]byte, 0, size+security.AgreedOverhead)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			dst = p.callers.Seal(p.callerRand, binding, dst[:0], plain)
			if _, err := p.members.OpenInPlace(at, dst); err != nil {
				t.Error(err)
			}
		}), "%d bytes", size)
	}
}

// BenchmarkAgreed measures what sealing and opening a payload costs with an agreement, and
// what making one does.
func BenchmarkAgreed(b *testing.B) {
	p := newPair(b)
	for _, size := range []int{16, 1 << 10, 64 << 10} {
		plain := make([]byte, size)
		sealed, binding := p.seal(b, string(plain))
		_, at, err := p.open(sealed)
		require.NoError(b, err)
		dst := make([]byte, 0, size+security.AgreedOverhead)
		b.Run("both-"+sizeName(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				dst = p.callers.Seal(p.callerRand, binding, dst[:0], plain)
				if _, err := p.members.OpenInPlace(at, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("agree", func(b *testing.B) {
		key := p.member.Public()
		for b.Loop() {
			e := security.NewEphemerals(p.callerRand, noon)
			if _, err := e.With(key); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func sizeName(n int) string {
	return map[int]string{16: "16B", 1 << 10: "1KB", 64 << 10: "64KB"}[n]
}
