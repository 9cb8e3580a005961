// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire/session"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/client"
)

// This test checks that a client without a relay says so, where it looked, and
// what to look at; and that it may try again.
func TestStartSaysThatThereIsNoRelay(t *testing.T) {
	p := newPlace(t)
	c, err := client.New(client.Config{Socket: p.socket})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Request(t.Context(), "geo", patterns.Message{})
	require.ErrorContains(t, err, "not started")

	err = c.Start(t.Context())
	require.ErrorIs(t, err, client.ErrNoRelay)
	require.ErrorContains(t, err, p.socket)
	require.ErrorContains(t, err, "is 'arke relay' running")
	require.NotContains(t, err.Error(), "\n")

	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(p.socket), "file"), nil, 0o600))
	p.relay()
	require.NoError(t, c.Start(t.Context()))
	require.ErrorContains(t, c.Start(t.Context()), "started already")
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.Start(t.Context()), patterns.ErrClosed)
}

// This test checks that the token is needed, that the right one is enough, and
// that its text is in no error.
func TestTheTokenIsNeededOverTCP(t *testing.T) {
	p := newPlace(t)
	p.change = func(cfg *relay.Config) { cfg.Listen, cfg.Token = "127.0.0.1:0", "secret-token" }
	r := p.relay()
	for _, token := range []string{"", "wrong-token"} {
		c, err := client.New(client.Config{Address: r.Addr(), Token: token})
		require.NoError(t, err)
		err = c.Start(t.Context())
		require.ErrorIs(t, err, client.ErrToken)
		require.ErrorIs(t, err, patterns.ErrUnauthorized)
		require.NotContains(t, err.Error(), "-token")
		require.NoError(t, c.Close())
	}
	c, err := client.New(client.Config{Address: r.Addr(), Token: "secret-token"})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Start(t.Context()))
	serve(t, c, "geo", echo)
	reply, err := c.Request(t.Context(), "geo", patterns.Message{Body: []byte("hi")})
	require.NoError(t, err)
	require.Equal(t, "hi", string(reply.Body))
}

// impostor answers every connection at the place with the frame.
func impostor(t *testing.T, socket string, answer []byte) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, session.MaxHandshake))
			conn.Write(answer)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
}

// This test checks that a relay of another release, or something that is no
// relay, is told apart in words.
func TestStartSaysWhatAnswered(t *testing.T) {
	encode := func(f session.Frame) []byte {
		b, err := session.Append(nil, f)
		require.NoError(t, err)
		return b
	}
	tests := []struct {
		name   string
		answer []byte
		want   error
		text   string
	}{
		{"refuses our version", encode(&session.Refused{Reason: session.ReasonVersion, Text: "this relay speaks versions 2 to 3"}), client.ErrVersion, "speaks versions 2 to 3"},
		{"a version we do not know", encode(&session.Welcome{Version: 7}), client.ErrVersion, "version 7"},
		{"draining", encode(&session.Refused{Reason: session.ReasonDraining, Text: "shutting down"}), client.ErrNoRelay, "shutting down"},
		{"another user", encode(&session.Refused{Reason: session.ReasonUser, Text: "user 7"}), client.ErrUser, "user 7"},
		{"another reason", encode(&session.Refused{Reason: 999, Text: "full moon"}), client.ErrRefused, "full moon"},
		{"another frame", encode(&session.Ping{}), client.ErrNoRelay, "answers with ping"},
		{"another protocol", []byte("HTTP/1.1 400 Bad Request\r\n\r\n"), client.ErrNoRelay, "too large"},
		{"nothing", nil, client.ErrNoRelay, "EOF"},
	}
	for _, tt := range tests {
		socket := filepath.Join(t.TempDir(), "s")
		impostor(t, socket, tt.answer)
		c, err := client.New(client.Config{Socket: socket})
		require.NoError(t, err)
		err = c.Start(t.Context())
		require.ErrorIs(t, err, tt.want, tt.name)
		require.ErrorContains(t, err, tt.text, tt.name)
		require.NoError(t, c.Close())
	}
}

// This test checks what New refuses, and where a client looks by default.
func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]client.Config{
		"nowhere":       {},
		"two places":    {Socket: "s", Address: "127.0.0.1:1"},
		"long token":    {Address: "127.0.0.1:1", Token: strings.Repeat("x", 1025)},
		"long name":     {Socket: "s", Name: strings.Repeat("x", 256)},
		"negative wait": {Socket: "s", RelayWait: -1},
	} {
		_, err := client.New(cfg)
		require.Error(t, err, name)
	}
	require.Equal(t, "/run/user/7/arke/relay.sock", client.DefaultSocket("/run/user/7"))
	require.Contains(t, client.DefaultSocket(""), "relay.sock")
}

// This test checks what Serve refuses before it asks the relay.
func TestServeChecksWhatItIsGiven(t *testing.T) {
	p := newPlace(t)
	p.relay()
	c := p.client()
	_, err := c.Serve(t.Context(), "geo", nil, patterns.Limits{})
	require.Error(t, err)
	_, err = c.Serve(t.Context(), strings.Repeat("x", 256), patterns.HandlerFunc(echo), patterns.Limits{})
	require.Error(t, err)
	_, err = c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{Concurrency: -1})
	require.Error(t, err)
	_, err = c.Serve(t.Context(), "geo", patterns.HandlerFunc(echo), patterns.Limits{Concurrency: 2, QueueLength: -7, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6})
	require.NoError(t, err)
	require.Equal(t, []patterns.Limits{{Concurrency: 2, QueueBytes: 3, MessageBytes: 4, Capacity: 5, Tunnels: 6}}, p.node.Limits("geo"))
}
