// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestAnAuthorityFromItsKeyToARevocation checks the whole way that docs/keys.md
// describes: each command takes what the one before has made, and says what is wrong
// with everything else.
func TestAnAuthorityFromItsKeyToARevocation(t *testing.T) {
	t.Chdir(t.TempDir())
	shows := func(v any, args ...string) {
		t.Helper()
		require.NoError(t, json.Unmarshal(ran(t, 0, append(args, "--json")...).out.Bytes(), v))
	}
	ran(t, 0, "keygen", "--network", "home", "--out", "home.key")
	var made struct{ Statement string }
	shows(&made, "authority", "init", "--key-file", "home.key", "--out", "authority.key")
	refused(t, "exists", "authority", "init", "--key-file", "home.key", "--out", "authority.key")
	require.Contains(t, made.Statement, " optional")
	f, err := os.OpenFile("home.key", os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(strings.Replace(made.Statement, "optional", "required", 1) + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	request := []string{"authority", "request", "--data-dir", "data"}
	out := ran(t, 0, request...).out.String()
	require.Equal(t, out, ran(t, 0, request...).out.String(), "the key stays")
	peer := strings.TrimSpace(out)
	sign := []string{"authority", "sign", "--authority", "authority.key", "--name", "web-1", "--out", "web-1.cert"}
	refused(t, "--peer", sign...)
	refused(t, "arke authority request", append(sign, "--peer", "nobody")...)
	refused(t, "> stands before the end", append(sign, "--peer", peer, "--call", "a.>.b")...)
	ran(t, 0, append(sign, "--peer", peer, "--call", ">", "--serve", "geo", "--group", "frontend")...)
	var first, second certificateText
	shows(&first, "authority", "show", "web-1.cert")
	require.Equal(t, peer, first.Peer)
	require.Equal(t, []string{"geo"}, first.Serve)
	require.Equal(t, defaultLife, first.NotAfter.Sub(first.NotBefore))
	require.Contains(t, ran(t, 0, "authority", "show", "web-1.cert").out.String(), "frontend")
	shows(&second, "authority", "renew", "--authority", "authority.key", "--certificate", "web-1.cert", "--for", "1h")
	require.NotEqual(t, first.Serial, second.Serial)
	require.Equal(t, first.Call, second.Call)
	require.Equal(t, time.Hour, second.NotAfter.Sub(second.NotBefore))

	// A relay needs one, and it has to be its own.
	relay := []string{"relay", "--key-file", "home.key", "--listen", "/ip4/127.0.0.1/tcp/0", "--no-mdns", "--socket", filepath.Join(t.TempDir(), "s")}
	refused(t, "this network requires certificates", append(relay, "--data-dir", "data")...)
	refused(t, "it is for peer "+peer, append(relay, "--data-dir", "other", "--certificate", "web-1.cert")...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := newConsole("")
	c.Stdout = writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), "arke relay ready") {
			cancel()
		}
		return len(b), nil
	})
	require.Equal(t, 0, c.Run(ctx, append(relay, "--data-dir", "data", "--certificate", "web-1.cert")), c.err.String())
	require.ErrorIs(t, ctx.Err(), context.Canceled, "it was ready")

	revoke := []string{"authority", "revoke", "--authority", "authority.key", "--list", "revocations"}
	refused(t, "--serial", revoke...)
	refused(t, "hexadecimal", append(revoke, "--serial", "x")...)
	ran(t, 0, append(revoke, "--certificate", "web-1.cert", "--serial", first.Serial)...)
	require.Contains(t, ran(t, 0, append(revoke, "--peer", peer)...).out.String(), "list 2: 2 certificates, 1 nodes")
	refused(t, "another kind of file", append(relay, "--data-dir", "data", "--certificate", "web-1.cert", "--revocations", "web-1.cert")...)
	key, err := security.LoadAuthority("authority.key")
	require.NoError(t, err)
	signed, err := security.ReadRevocationsFile("revocations")
	require.NoError(t, err)
	l, err := security.OpenRevocations(key.ID(), key.Network(), signed)
	require.NoError(t, err)
	require.EqualValues(t, 2, l.Number)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
