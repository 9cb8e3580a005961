// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
)

// This test checks that a frame that was cut anywhere is refused, except where
// the bytes that are missing are a body's.
func TestCutFramesAreRefused(t *testing.T) {
	for _, v := range vectors() {
		b := encoded(t, v.frame)[5:]
		tail := tailOf(v.frame)
		for n := range len(b) - tail {
			_, err := session.Decode(v.frame.Kind(), b[:n])
			require.ErrorIs(t, err, session.ErrMalformed, "%s cut to %d bytes", v.meaning, n)
		}
	}
}

func tailOf(f session.Frame) int {
	switch f := f.(type) {
	case *session.Request:
		return len(f.Body)
	case *session.Deliver:
		return len(f.Body)
	case *session.Push:
		return len(f.Body)
	case *session.Survey:
		return len(f.Body)
	case *session.Broadcast:
		return len(f.Body)
	case *session.Publish:
		return len(f.Body)
	case *session.Publication:
		return len(f.Body)
	case *session.SurveyReply:
		return len(f.Body) + len(f.Text)
	case *session.Reply:
		return len(f.Body) + len(f.Text)
	case *session.Answer:
		return len(f.Body) + len(f.Text)
	case *session.StatusReply:
		return len(f.JSON) + len(f.Text)
	case *session.OpenTunnel:
		return len(f.Body)
	case *session.DeliverTunnel:
		return len(f.Body)
	case *session.TunnelData:
		return len(f.Chunk)
	}
	return 0
}

// This test checks that bytes behind the end are refused, except in the frames
// that a version is negotiated with, which a later release may lengthen.
func TestOnlyTheHandshakeMayGrow(t *testing.T) {
	for _, v := range vectors() {
		k := v.frame.Kind()
		switch v.frame.(type) {
		case *session.Push, *session.Survey, *session.SurveyReply, *session.Broadcast, *session.Publish, *session.Publication:
			continue
		case *session.Request, *session.Deliver, *session.Reply, *session.Answer, *session.StatusReply,
			*session.OpenTunnel, *session.DeliverTunnel, *session.TunnelData:
			continue // the rest of the frame is a body
		}
		got, err := session.Decode(k, append(encoded(t, v.frame)[5:], 0))
		switch k {
		case session.KindHello, session.KindWelcome, session.KindRefused:
			require.NoError(t, err, v.meaning)
			require.Equal(t, v.frame, got)
		default:
			require.ErrorIs(t, err, session.ErrMalformed, v.meaning)
		}
	}
}

// This test checks each field's limit from both sides: a sender can't exceed
// it, and a receiver refuses it.
func TestLimitsHoldOnBothSides(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name  string
		frame session.Frame
		ok    bool
	}{
		{"longest cluster", &session.Request{Cluster: long(session.MaxCluster)}, true},
		{"cluster", &session.Request{Cluster: long(session.MaxCluster + 1)}, false},
		{"longest sticky key", &session.Request{StickyKey: long(session.MaxSticky)}, true},
		{"sticky key", &session.Request{StickyKey: long(session.MaxSticky + 1)}, false},
		{"longest token", &session.Hello{Token: long(session.MaxToken)}, true},
		{"token", &session.Hello{Token: long(session.MaxToken + 1)}, false},
		{"longest name", &session.Hello{Client: long(session.MaxName)}, true},
		{"name", &session.Hello{Client: long(session.MaxName + 1)}, false},
		{"longest key", &session.Request{Headers: []session.Header{{Key: long(255)}}}, true},
		{"key", &session.Request{Headers: []session.Header{{Key: long(256)}}}, false},
		{"longest headers", &session.Request{Headers: []session.Header{{Key: "a", Value: long(session.MaxHeaders - 6)}}}, true},
		{"headers", &session.Request{Headers: []session.Header{{Key: "a", Value: long(session.MaxHeaders - 5)}}}, false},
		{"value", &session.Answer{Headers: []session.Header{{Value: long(1 << 16)}}}, false},
	}
	for _, tt := range tests {
		b, err := session.Append(nil, tt.frame)
		if !tt.ok {
			require.ErrorIs(t, err, session.ErrFieldTooLarge, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		_, err = session.Decode(tt.frame.Kind(), b[5:])
		require.NoError(t, err, tt.name)
	}
	_, err := session.Append(nil, &session.Request{Body: make([]byte, session.MaxFrame)})
	require.ErrorIs(t, err, session.ErrFrameTooLarge)
}

// This test checks that a text for people is cut rather than refused: it must
// not be the reason why an error is not told. It is not cut within a character,
// which bindings in other languages would not take for text.
func TestTextsAreCut(t *testing.T) {
	b := encoded(t, &session.Error{Reason: session.ReasonSlow, Text: strings.Repeat("x", 1<<20)})
	f, err := session.Decode(session.KindError, b[5:])
	require.NoError(t, err)
	require.Len(t, f.(*session.Error).Text, session.MaxText)
	b = encoded(t, &session.Error{Reason: session.ReasonSlow, Text: "x" + strings.Repeat("ü", session.MaxText)})
	f, err = session.Decode(session.KindError, b[5:])
	require.NoError(t, err)
	require.Equal(t, "x"+strings.Repeat("ü", session.MaxText/2-1), f.(*session.Error).Text)
}

// This test checks that what this version does not define is refused, and not
// taken for something else.
func TestUndefinedNumbersAreRefused(t *testing.T) {
	request := encoded(t, &session.Request{Cluster: "geo"})[5:]
	reply := encoded(t, &session.Reply{})[5:]
	subscribe := encoded(t, &session.Subscribe{Pattern: "a.b"})[5:]
	gap := encoded(t, &session.Gap{Reason: session.GapSlow})[5:]
	change := func(b []byte, at int, v byte) []byte {
		b = bytes.Clone(b)
		b[at] = v
		return b
	}
	tests := []struct {
		name string
		kind session.Kind
		body []byte
	}{
		{"an option's bit", session.KindRequest, change(request, 16, 0x04)},
		{"a policy", session.KindRequest, change(request, 17, 5)},
		{"an outcome", session.KindReply, change(reply, 8, 16)},
		{"an outcome's flag", session.KindReply, change(reply, 9, 2)},
		{"a pattern of a delivery", session.KindDeliver, change(encoded(t, &session.Deliver{})[5:], 16, 4)},
		{"a pattern of a member", session.KindRegister, change(encoded(t, &session.Register{})[5:], 40, 0x10)},
		{"an option of a subscription", session.KindSubscribe, change(subscribe, 16, 4)},
		{"a policy of a subscription", session.KindSubscribe, change(subscribe, 17, 3)},
		{"a flag", session.KindGap, change(gap, 24, 2)},
		{"no reason of a gap", session.KindGap, change(gap, 25, 0)},
		{"a reason of a gap", session.KindGap, change(gap, 25, 5)},
		{"a range of none", session.KindPublished, make([]byte, 12)},
		{"more missing members than bytes", session.KindSurveyEnd, append(make([]byte, 21), 0xff, 0xff, 0xff, 0xff)},
		{"magic", session.KindHello, make([]byte, 200)},
		{"more members than bytes", session.KindMembersReply, append(make([]byte, 16), 0xff, 0xff, 0xff, 0xff)},
		{"more headers than bytes", session.KindAnswer, append(make([]byte, 14), 0xff, 0xff)},
	}
	for _, tt := range tests {
		_, err := session.Decode(tt.kind, tt.body)
		require.ErrorIs(t, err, session.ErrMalformed, tt.name)
	}
	_, err := session.Decode(99, nil)
	require.ErrorIs(t, err, session.ErrUnknownKind)
	require.False(t, session.Kind(127).Skippable())
	require.True(t, session.Kind(128).Skippable())
}

// This test checks that a body is not copied by decoding.
func TestDecodedBodiesAliasTheFrame(t *testing.T) {
	b := encoded(t, &session.Request{Cluster: "geo", Body: []byte("hello")})[5:]
	f, err := session.Decode(session.KindRequest, b)
	require.NoError(t, err)
	b[len(b)-1] = '!'
	require.Equal(t, "hell!", string(f.(*session.Request).Body))
}

// This test checks the choice of a version against the overlap of two ranges.
func TestTheHighestCommonVersionIsPicked(t *testing.T) {
	tests := []struct {
		minA, maxA, minB, maxB, want uint16
		ok                           bool
	}{
		{1, 1, 1, 1, 1, true},
		{1, 3, 2, 5, 3, true},
		{2, 5, 1, 3, 3, true},
		{1, 9, 4, 4, 4, true},
		{1, 2, 3, 4, 0, false},
		{3, 4, 1, 2, 0, false},
		{3, 1, 1, 3, 0, false}, // no range at all
		{1, 3, 3, 1, 0, false},
	}
	for _, tt := range tests {
		got, ok := session.PickVersion(tt.minA, tt.maxA, tt.minB, tt.maxB)
		require.Equal(t, tt.ok, ok, "%+v", tt)
		if ok {
			require.Equal(t, tt.want, got, "%+v", tt)
		}
	}
}

// This test checks that times travel without overflow, and that a time that is
// over is not taken for one that never ends.
func TestTimesSurviveTheTrip(t *testing.T) {
	require.Equal(t, uint64(1), session.Micros(0))
	require.Equal(t, uint64(1), session.Micros(-time.Hour))
	require.Equal(t, 1500*time.Millisecond, session.Duration(session.Micros(1500*time.Millisecond)))
	require.Positive(t, session.Duration(math.MaxUint64))
}
