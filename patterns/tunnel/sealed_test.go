// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// sealedRig is a rig with one sealed tunnel, whose far end has the keys, and who
// stands between: the test.
type sealedRig struct {
	*rig
	tunnel *Tunnel
	far    *security.Stream
}

// inSealedRig runs f with one, in virtual time.
func inSealedRig(t *testing.T, f func(t *testing.T, r sealedRig)) {
	t.Helper()
	inRig(t, true, func(t *testing.T, r *rig) {
		var opening wire.TunnelOpen
		r.before = func(o wire.TunnelOpen) { opening = o }
		tunnel, err := r.engine.Open(t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
		require.NoError(t, err)
		s := sealedRig{rig: r, tunnel: tunnel.(*Tunnel)}
		s.far, err = r.keys.Stream(security.StreamBinding{
			Opener: "opener", OpenerIncarnation: 3, Member: 1, MemberIncarnation: 4, Tunnel: s.tunnel.id,
		}, opening.Stream, salt, false)
		require.NoError(t, err)
		f(t, s)
	})
}

// credit and reset are frames that the far end has sealed.
func (r sealedRig) credit(total uint64) []byte {
	m := wire.TunnelCredit{ID: r.tunnel.id, Total: total}
	m.Seal = r.far.SealCredit(nil, total, m.Flags)
	return m.AppendTo(nil)
}

func (r sealedRig) reset(m wire.TunnelReset) []byte {
	m.ID, m.Flags = r.tunnel.id, wire.FlagSealedReset
	m.Sealed = r.far.SealReset(nil, m.AppendWhy(nil), m.Flags)
	return m.AppendTo(nil)
}

func TestASealedTunnelRefusesWhatWasChanged(t *testing.T) {
	// This test plays the man in the middle of a sealed tunnel: chunks changed,
	// repeated, swapped, left out; ends, credit and resets that were made up,
	// changed, or taken from another tunnel or for another use. Each ends the
	// tunnel with ErrUnauthorized and is counted; the far end is told.
	for name, f := range map[string]func(r sealedRig, id uint64, chunks [][]byte){
		"plain":    func(r sealedRig, id uint64, _ [][]byte) { r.data(id, []byte("x"), true) },
		"changed":  func(r sealedRig, id uint64, c [][]byte) { c[0][3] ^= 1; r.data(id, c[0], true) },
		"repeated": func(r sealedRig, id uint64, c [][]byte) { r.data(id, bytes.Clone(c[0]), true); r.data(id, c[0], true) },
		"swapped":  func(r sealedRig, id uint64, c [][]byte) { r.data(id, c[1], true) },
		"flags":    func(r sealedRig, id uint64, c [][]byte) { r.data(id, c[0], false) },
		"an end": func(r sealedRig, id uint64, _ [][]byte) {
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: id}.AppendTo(nil))
		},
		"an early end": func(r sealedRig, id uint64, _ [][]byte) { // chunks are left out before it
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: id, Payload: r.far.Seal(nil, nil, 0)}.AppendTo(nil))
		},
		"the end of one direction for both": func(r sealedRig, id uint64, c [][]byte) {
			r.data(id, c[0], true)
			r.data(id, c[1], true)
			r.hear(wire.KindTunnelEnd, wire.TunnelEnd{ID: id, Flags: wire.FlagClosed, Payload: r.far.Seal(nil, nil, 0)}.AppendTo(nil))
		},
		"credit": func(r sealedRig, id uint64, _ [][]byte) {
			r.hear(wire.KindTunnelCredit, wire.TunnelCredit{ID: id, Total: 1 << 20}.AppendTo(nil))
		},
		"more credit": func(r sealedRig, id uint64, _ [][]byte) {
			r.hear(wire.KindTunnelCredit, wire.TunnelCredit{ID: id, Total: 1 << 20, Seal: r.far.SealCredit(nil, 1<<19, 0)}.AppendTo(nil))
		},
		"credit that was a chunk": func(r sealedRig, id uint64, _ [][]byte) {
			r.hear(wire.KindTunnelCredit, wire.TunnelCredit{ID: id, Seal: r.far.Seal(nil, nil, 0)}.AppendTo(nil))
		},
		"a reset": func(r sealedRig, id uint64, _ [][]byte) {
			m := wire.TunnelReset{ID: id, Flags: wire.FlagSealedReset, Code: 7}
			m.Sealed = append(m.AppendWhy(nil), make([]byte, security.StreamOverhead)...)
			r.hear(wire.KindTunnelReset, m.AppendTo(nil))
		},
		"a changed reset": func(r sealedRig, _ uint64, _ [][]byte) {
			body := r.rig.resetOf(r)
			body[len(body)-1] ^= 1
			r.hear(wire.KindTunnelReset, body)
		},
		"a reset of another tunnel": func(r sealedRig, id uint64, _ [][]byte) {
			body := r.rig.resetOf(r)
			other := wire.TunnelReset{ID: id + 1, Flags: wire.FlagSealedReset}
			tunnel, err := r.engine.Open(r.t.Context(), "pipe", patterns.Message{}, patterns.RequestOptions{})
			require.NoError(r.t, err)
			other.Sealed = body[wire.TunnelHeadSize:]
			r.hear(wire.KindTunnelReset, other.AppendTo(nil))
			require.ErrorIs(r.t, tunnel.Err(), patterns.ErrUnauthorized)
			require.NoError(r.t, r.tunnel.Err(), "the other one is not touched")
			r.data(id, []byte("x"), true) // and this one for the rest of the test
		},
	} {
		t.Run(name, func(t *testing.T) {
			inSealedRig(t, func(t *testing.T, r sealedRig) {
				r.link.frames()
				require.NoError(t, r.tunnel.Send(t.Context(), []byte("secret words")))
				body := r.link.frames()[0].body
				require.NotContains(t, string(body), "secret")
				m, err := wire.DecodeTunnelData(body)
				require.NoError(t, err)
				plain, err := r.far.Open(m.Payload, m.Flags)
				require.NoError(t, err)
				require.Equal(t, "secret words", string(plain))

				f(r, r.tunnel.id, [][]byte{r.far.Seal(nil, []byte("one"), wire.FlagLast), r.far.Seal(nil, []byte("two"), wire.FlagLast)})
				<-r.tunnel.Done()
				require.ErrorIs(t, r.tunnel.Err(), patterns.ErrUnauthorized)
				require.NotErrorIs(t, r.tunnel.Err(), io.EOF)
				require.NotZero(t, r.engine.Drops()["forged"])
				frames := r.link.frames()
				reset, err := wire.DecodeTunnelReset(frames[len(frames)-1].body)
				require.NoError(t, err)
				why, err := r.far.OpenReset(reset.Sealed, reset.Flags)
				require.NoError(t, err)
				require.NoError(t, reset.DecodeWhy(why))
				require.Equal(t, wire.CauseViolation, reset.Cause)
			})
		})
	}
}

// resetOf is one by the program at the far end.
func (*rig) resetOf(r sealedRig) []byte { return r.reset(wire.TunnelReset{Code: 7, Text: "enough"}) }

func TestASealedResetIsHeeded(t *testing.T) {
	// This test has the far end of a sealed tunnel reset it: code and text come,
	// and were not to be seen; once more they change nothing.
	inSealedRig(t, func(t *testing.T, r sealedRig) {
		body := r.resetOf(r)
		require.NotContains(t, string(body), "enough")
		again := bytes.Clone(body)
		r.hear(wire.KindTunnelReset, body)
		var reset *patterns.TunnelError
		require.ErrorAs(t, r.tunnel.Err(), &reset)
		require.Equal(t, patterns.TunnelError{Code: 7, Message: "enough"}, *reset)
		r.hear(wire.KindTunnelReset, again)
		require.Empty(t, r.engine.Drops())
	})
}

func TestAResetInTheClearDoesNotEndASealedTunnel(t *testing.T) {
	// This test resets a sealed tunnel without its keys, with every cause: the
	// tunnel goes on, and it is counted.
	inSealedRig(t, func(t *testing.T, r sealedRig) {
		for cause := wire.CauseProgram; cause <= wire.CauseViolation; cause++ {
			r.hear(wire.KindTunnelReset, wire.TunnelReset{ID: r.tunnel.id, Cause: cause, Code: 7, Text: "enough"}.AppendTo(nil))
		}
		require.NoError(t, r.tunnel.Err())
		require.Equal(t, map[string]uint64{"forged": 5}, r.engine.Drops())
		r.data(r.tunnel.id, r.far.Seal(nil, []byte("goes on"), wire.FlagLast), true)
		body, err := r.tunnel.Receive(t.Context())
		require.NoError(t, err)
		require.Equal(t, "goes on", string(body))
	})
}

func TestAMemberHeedsAResetInTheClearUntilTheOpenerHasSpoken(t *testing.T) {
	// This test shows what a member makes of such a reset: an opener whose
	// opening has failed has no keys, but whoever sends it can choose neither
	// cause nor text.
	inSealedRig(t, func(t *testing.T, r sealedRig) {
		_, sealed := heeded(word{reset: &wire.TunnelReset{Code: 7}}, true, true)
		require.True(t, sealed)
		w, err := r.tunnel.read(wire.KindTunnelReset, wire.TunnelReset{ID: r.tunnel.id, Code: 7, Text: "enough"}.AppendTo(nil))
		require.NoError(t, err)
		var s state
		do, err := s.hear(w, false)
		require.NoError(t, err)
		require.NotZero(t, do&finishUp)
		require.Equal(t, patterns.ErrInterrupted, s.ends.err)
		for _, spoken := range []state{{known: true}, {}} {
			do, err = spoken.hear(w, !spoken.known)
			require.NoError(t, err)
			require.Equal(t, countForged, do)
			require.NoError(t, spoken.ends.err)
		}
		plain := codec{}
		_, err = plain.read(wire.KindTunnelReset, r.reset(wire.TunnelReset{}))
		require.ErrorIs(t, err, errNotSealed)
	})
}

func TestSealedCreditCountsOnceInAnyOrder(t *testing.T) {
	// This test gives sealed credit, older credit after newer, and the same
	// twice: the sender may send as much as the largest total says.
	inSealedRig(t, func(t *testing.T, r sealedRig) {
		older, newer := r.credit(credit.FirstWindow+1000), r.credit(credit.FirstWindow+5000)
		for _, body := range [][]byte{newer, older, newer, older} {
			r.hear(wire.KindTunnelCredit, bytes.Clone(body))
			require.Equal(t, credit.FirstWindow+5000, r.tunnel.state.out.Left())
		}
		r.hear(wire.KindTunnelCredit, r.credit(1<<63))
		require.Equal(t, credit.MaxBalance, r.tunnel.state.out.Left())
		require.NoError(t, r.tunnel.Err())
		require.Empty(t, r.engine.Drops())
	})
}

func TestTheFarEndCanOpenWhatASealedTunnelSays(t *testing.T) {
	// This test looks at the word, the credit and the reset that a sealed tunnel
	// sends: all are sealed.
	inSealedRig(t, func(t *testing.T, r sealedRig) {
		r.data(r.tunnel.id, r.far.Seal(nil, make([]byte, 60_000), wire.FlagLast), true)
		_, err := r.tunnel.Receive(t.Context())
		require.NoError(t, err)
		totals := []uint64{credit.FirstWindow, credit.FirstWindow + 60_000}
		for i, f := range r.link.frames() {
			m, err := wire.DecodeTunnelCredit(f.body)
			require.NoError(t, err)
			require.Equal(t, totals[i], m.Total)
			require.NoError(t, r.far.OpenCredit(m.Seal, m.Total, m.Flags))
		}
		require.NoError(t, r.tunnel.Reset(9, "a secret"))
		body := r.link.frames()[0].body
		require.NotContains(t, string(body), "secret")
	})
}
