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
	run := func(status int, args ...string) (stdout, stderr string) {
		t.Helper()
		c := newConsole("")
		require.Equal(t, status, c.Run(t.Context(), args), "%s\n%s", strings.Join(args, " "), c.err.String())
		return c.out.String(), c.err.String()
	}
	run(0, "keygen", "--network", "home", "--out", "home.key")
	var made struct{ Statement string }
	out, _ := run(0, "authority", "init", "--key-file", "home.key", "--out", "authority.key", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &made))
	_, says := run(1, "authority", "init", "--key-file", "home.key", "--out", "authority.key")
	require.Contains(t, says, "exists")
	require.Contains(t, made.Statement, " optional")
	f, err := os.OpenFile("home.key", os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(strings.Replace(made.Statement, "optional", "required", 1) + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	out, _ = run(0, "authority", "request", "--data-dir", "data")
	peer := strings.TrimSpace(out)
	again, _ := run(0, "authority", "request", "--data-dir", "data")
	require.Equal(t, out, again, "the key stays")
	sign := []string{"authority", "sign", "--authority", "authority.key", "--name", "web-1", "--out", "web-1.cert"}
	_, says = run(1, sign...)
	require.Contains(t, says, "--peer")
	_, says = run(1, append(sign, "--peer", "nobody")...)
	require.Contains(t, says, "arke authority request")
	_, says = run(1, append(sign, "--peer", peer, "--call", "a.>.b")...)
	require.Contains(t, says, "> stands before the end")
	run(0, append(sign, "--peer", peer, "--call", ">", "--serve", "geo", "--group", "frontend")...)
	var first, second certificateText
	out, _ = run(0, "authority", "show", "web-1.cert", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &first))
	require.Equal(t, peer, first.Peer)
	require.Equal(t, []string{"geo"}, first.Serve)
	require.Equal(t, defaultLife, first.NotAfter.Sub(first.NotBefore))
	out, _ = run(0, "authority", "show", "web-1.cert")
	require.Contains(t, out, "frontend")
	out, _ = run(0, "authority", "renew", "--authority", "authority.key", "--certificate", "web-1.cert", "--for", "1h", "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &second))
	require.NotEqual(t, first.Serial, second.Serial)
	require.Equal(t, first.Call, second.Call)
	require.Equal(t, time.Hour, second.NotAfter.Sub(second.NotBefore))

	// A relay needs one, and it has to be its own.
	relay := []string{"relay", "--key-file", "home.key", "--listen", "/ip4/127.0.0.1/tcp/0", "--no-mdns", "--socket", filepath.Join(t.TempDir(), "s")}
	_, says = run(1, append(relay, "--data-dir", "data")...)
	require.Contains(t, says, "this network requires certificates")
	_, says = run(1, append(relay, "--data-dir", "other", "--certificate", "web-1.cert")...)
	require.Contains(t, says, "it is for peer "+peer)
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
	_, says = run(1, revoke...)
	require.Contains(t, says, "--serial")
	_, says = run(1, append(revoke, "--serial", "x")...)
	require.Contains(t, says, "hexadecimal")
	run(0, append(revoke, "--certificate", "web-1.cert", "--serial", first.Serial)...)
	out, _ = run(0, append(revoke, "--peer", peer)...)
	require.Contains(t, out, "list 2: 2 certificates, 1 nodes")
	_, says = run(1, append(relay, "--data-dir", "data", "--certificate", "web-1.cert", "--revocations", "web-1.cert")...)
	require.Contains(t, says, "another kind of file")
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
