// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/relay"
)

// This test checks what a Welcome says.
func TestWelcomeTellsTheLimits(t *testing.T) {
	_, _, cfg := start(t, nil)
	a, b := attach(t, cfg.Socket), attach(t, cfg.Socket)
	require.Equal(t, uint16(1), a.welcome.Version)
	require.Equal(t, "peer", a.welcome.Peer)
	require.Equal(t, "arke", a.welcome.Relay)
	require.Equal(t, session.Limits{
		Frame: session.MaxFrame, Message: 16 << 20, Registrations: 64, Subscriptions: 4096, Requests: 4096, RequestBytes: 64 << 20,
	}, a.welcome.Limits)
	require.False(t, a.welcome.Session.IsZero())
	require.NotEqual(t, a.welcome.Session, b.welcome.Session)
}

// This test checks that a client which can't be welcomed is told why, in words,
// and that each refusal is counted.
func TestARefusedClientIsToldWhy(t *testing.T) {
	r, _, cfg := start(t, func(cfg *relay.Config) {
		cfg.Listen, cfg.Token = "127.0.0.1:0", "secret"
		cfg.Limits.Clients = 1
	})
	huge := append([]byte{0, 0, 0x20, 0, byte(session.KindHello)}, make([]byte, 100)...)
	tests := []struct {
		name   string
		local  bool
		frame  session.Frame
		raw    []byte
		reason session.Reason
		text   string
	}{
		{"version", true, &session.Hello{MinVersion: 7, MaxVersion: 9}, nil, session.ReasonVersion, "this relay speaks versions 1 to 1 of the protocol, the client 7 to 9"},
		{"no token", false, hello(), nil, session.ReasonToken, "wrong token"},
		{"wrong token", false, &session.Hello{MinVersion: 1, MaxVersion: 1, Token: "x"}, nil, session.ReasonToken, "wrong token"},
		{"no hello", true, &session.Ping{}, nil, session.ReasonProtocol, "hello"},
		{"not our protocol", true, nil, []byte("GET / HTTP/1.1\r\n\r\n"), session.ReasonTooLarge, "too large"},
		{"not our magic", true, nil, append([]byte{0, 0, 0, 101, 1}, make([]byte, 100)...), session.ReasonMalformed, "magic"},
		{"too long", true, nil, huge, session.ReasonTooLarge, "at most 4096"},
	}
	for _, tt := range tests {
		b := dial(t, "tcp", r.Addr())
		if tt.local {
			b = dial(t, "unix", cfg.Socket)
		}
		if tt.frame != nil {
			b.send(tt.frame)
		} else {
			_, err := b.conn.Write(tt.raw)
			require.NoError(t, err)
		}
		refused := expect[*session.Refused](b)
		require.Equal(t, tt.reason, refused.Reason, tt.name)
		require.Contains(t, refused.Text, tt.text, tt.name)
		b.expectEnd()
		b.conn.Close()
	}

	b := dial(t, "tcp", r.Addr())
	b.send(&session.Hello{MinVersion: 1, MaxVersion: 1, Token: "secret"})
	expect[*session.Welcome](b)
	second := dial(t, "unix", cfg.Socket)
	second.send(hello())
	refused := expect[*session.Refused](second)
	require.Equal(t, session.ReasonClients, refused.Reason)
	require.Contains(t, refused.Text, relay.ErrTooManyClients.Error())

	require.Equal(t, map[string]uint64{
		"refused.version": 1, "refused.token": 2, "refused.protocol": 1, "refused.too_large": 2,
		"refused.malformed": 1, "refused.too_many_clients": 1,
	}, r.Status().Drops)
}

// This test checks that connections which say nothing keep nobody from
// attaching, and are turned away in time.
func TestAMuteClientBlocksNobody(t *testing.T) {
	r, n, cfg := start(t, func(cfg *relay.Config) { cfg.Limits.Handshake = 2 * time.Second })
	serveEcho(t, n, "geo")
	var mute []*binding
	for range 20 {
		mute = append(mute, dial(t, "unix", cfg.Socket))
	}
	_, err := mute[0].conn.Write([]byte{0, 0}) // slow, not only mute
	require.NoError(t, err)

	b := attach(t, cfg.Socket)
	b.send(&session.Request{ID: 1, Cluster: "geo", Body: []byte("hi")})
	require.Equal(t, "hi", string(expect[*session.Reply](b).Body))

	for _, m := range mute {
		require.Equal(t, session.ReasonTimeout, expect[*session.Refused](m).Reason)
	}
	require.Equal(t, uint64(20), r.Status().Drops["refused.timeout"])
}

// This test checks that each way to break the protocol ends the session with
// its reason, and is counted.
func TestABrokenProtocolEndsTheSession(t *testing.T) {
	r, n, cfg := start(t, nil)
	serveEcho(t, n, "geo")
	block := make(chan struct{})
	t.Cleanup(func() { close(block) })
	tests := []struct {
		name   string
		raw    []byte
		reason session.Reason
		text   string
	}{
		{"unknown kind", []byte{0, 0, 0, 1, 99}, session.ReasonKind, "99"},
		{"malformed", []byte{0, 0, 0, 2, byte(session.KindPing), 0}, session.ReasonMalformed, "ping"},
		{"no kind", []byte{0, 0, 0, 0}, session.ReasonMalformed, "kind"},
		{"too large", []byte{0xff, 0, 0, 0}, session.ReasonTooLarge, "at most"},
		{"second hello", frame(t, hello()), session.ReasonProtocol, "does not send hello"},
		{"a relay's frame", frame(t, &session.Goodbye{}), session.ReasonProtocol, "does not send goodbye"},
		{"a registration twice", frame(t, &session.Register{ID: 1, Cluster: "a", Patterns: 15}, &session.Register{ID: 1, Cluster: "a"}), session.ReasonProtocol, "registration 1"},
		{"an answer that is none", frame(t, &session.Answer{ID: 1, Failure: session.Failure{Outcome: session.OutcomeNoMembers}}), session.ReasonProtocol, "can't be no_members"},
	}
	for _, tt := range tests {
		b := attach(t, cfg.Socket)
		_, err := b.conn.Write(tt.raw)
		require.NoError(t, err)
		f := b.next()
		for f.Kind() == session.KindRegistered {
			f = b.next()
		}
		require.IsType(t, &session.Error{}, f, tt.name)
		require.Equal(t, tt.reason, f.(*session.Error).Reason, tt.name)
		require.Contains(t, f.(*session.Error).Text, tt.text, tt.name)
		b.expectEnd()
		b.conn.Close()
	}
	eventually(t, func() bool { return len(r.Status().Clients) == 0 }, "sessions stay")
	drops := r.Status().Drops
	require.Equal(t, uint64(1), drops["ended.unknown_kind"])
	require.Equal(t, uint64(4), drops["ended.protocol"])
	require.Equal(t, uint64(2), drops["ended.malformed"])
	require.Equal(t, uint64(1), drops["ended.too_large"])
	require.Empty(t, n.Limits("a"), "a member stays without its client")
}

func frame(t *testing.T, frames ...session.Frame) []byte {
	t.Helper()
	var b []byte
	for _, f := range frames {
		var err error
		b, err = session.Append(b, f)
		require.NoError(t, err)
	}
	return b
}

// This test checks that a frame of a kind that a later version may have, and
// that says it may be skipped, is.
func TestASkippableFrameIsSkipped(t *testing.T) {
	r, _, cfg := start(t, nil)
	b := attach(t, cfg.Socket)
	_, err := b.conn.Write([]byte{0, 0, 0, 3, 200, 1, 2})
	require.NoError(t, err)
	b.send(&session.Ping{Token: 7})
	require.Equal(t, uint64(7), expect[*session.Pong](b).Token)
	require.Equal(t, uint64(1), r.Status().Drops["frame.unknown"])
}

// This test checks that a client which comes back ends its own earlier session,
// and that a wrong id ends nobody's.
func TestAClientThatComesBackReplacesItself(t *testing.T) {
	r, n, cfg := start(t, nil)
	old := attach(t, cfg.Socket)
	old.register(1, "geo")
	other := attach(t, cfg.Socket)
	other.register(1, "geo")
	require.Len(t, n.Limits("geo"), 2)

	back := dial(t, "unix", cfg.Socket)
	h := hello()
	h.Resume = old.welcome.Session
	back.send(h)
	expect[*session.Welcome](back)
	require.Len(t, n.Limits("geo"), 1, "gone before the welcome")
	old.expectEnd()
	require.Equal(t, uint64(1), r.Status().Drops["ended.replaced"])

	stranger := dial(t, "unix", cfg.Socket)
	h.Resume = session.ID{1, 2, 3}
	stranger.send(h)
	expect[*session.Welcome](stranger)
	other.send(&session.Ping{Token: 1})
	expect[*session.Pong](other)
}

// This test checks that the status has the node's fields and the relay's.
func TestStatusDescribesNodeAndRelay(t *testing.T) {
	_, n, cfg := start(t, func(cfg *relay.Config) {
		cfg.Status = func() any { return map[string]any{"peer": "12D3", "links": []int{1}} }
	})
	serveEcho(t, n, "geo")
	b := attach(t, cfg.Socket)
	b.register(1, "b")
	b.register(2, "a")
	b.send(&session.Status{ID: 5})
	reply := expect[*session.StatusReply](b)
	require.Equal(t, uint64(5), reply.ID)
	var status struct {
		Peer  string
		Links []int
		Relay relay.Status
	}
	require.NoError(t, json.Unmarshal(reply.JSON, &status))
	require.Equal(t, "12D3", status.Peer)
	require.Equal(t, []int{1}, status.Links)
	require.Equal(t, cfg.Socket, status.Relay.Socket)
	require.Len(t, status.Relay.Clients, 1)
	require.Equal(t, "test", status.Relay.Clients[0].Name)
	require.Equal(t, []string{"a", "b"}, status.Relay.Clients[0].Clusters)
}

// This test checks that a node whose status is no object is no harm.
func TestAStrangeStatusIsNoHarm(t *testing.T) {
	for i, strange := range []any{nil, 7, func() {}} {
		_, _, cfg := start(t, func(cfg *relay.Config) { cfg.Status = func() any { return strange } })
		b := attach(t, cfg.Socket)
		b.send(&session.Status{ID: 5})
		reply := expect[*session.StatusReply](b)
		require.True(t, strings.HasPrefix(string(reply.JSON), `{"relay":{`), fmt.Sprint(i))
	}
}
