// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// keyed runs arke key with these arguments.
func keyed(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := App{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Abort: t.Context()}
	status = a.Run(t.Context(), append([]string{"key"}, args...))
	return stdout.String() + stderr.String(), status
}

func TestKeysAreRotatedListedAndPeersBanned(t *testing.T) {
	// This test rotates the keys of a network and of a cluster, lists them without any
	// key in the output, and bans a peer and lifts the ban.
	dir := t.TempDir()
	network, cluster := filepath.Join(dir, "home.key"), filepath.Join(dir, "vault.key")
	n, err := security.GenerateNetworkFile("home", rand.Reader)
	require.NoError(t, err)
	require.NoError(t, security.WriteNetworkFile(network, n))
	c, err := security.GenerateClusterFile("vault", rand.Reader)
	require.NoError(t, err)
	require.NoError(t, security.WriteClusterFile(cluster, c))

	out, status := keyed(t, "rotate", "--key-file", network, "--overlap", "2h")
	require.Zero(t, status, out)
	require.Contains(t, out, "key version 2")
	f, err := security.ReadNetworkFile(network)
	require.NoError(t, err)
	require.Len(t, f.Keys, 2)
	require.Equal(t, 2*time.Hour, f.Keys[0].NotAfter.Sub(f.Keys[1].NotBefore))

	out, status = keyed(t, "rotate", "--key-file", cluster, "--cluster", "vault", "--overlap", "0")
	require.Zero(t, status, out)
	out, status = keyed(t, "rotate", "--key-file", cluster, "--cluster", "other")
	require.NotZero(t, status)
	require.Contains(t, out, `the file of cluster "vault", not of "other"`)
	out, status = keyed(t, "rotate", "--key-file", cluster)
	require.NotZero(t, status)
	require.Contains(t, out, "say so with --cluster vault")

	k, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	p := k.PeerID().String()
	out, status = keyed(t, "ban", "--key-file", network, p)
	require.Zero(t, status, out)
	out, status = keyed(t, "ban", "--key-file", network, "nobody")
	require.NotZero(t, status)
	require.Contains(t, out, "no peer id")

	out, status = keyed(t, "list", "--key-file", network)
	require.Zero(t, status, out)
	require.Regexp(t, `(?m)^1 .* accepted$`, out)
	require.Regexp(t, `(?m)^2 .* seals$`, out)
	require.Regexp(t, `(?m)^ban +`+p+`$`, out)
	for _, line := range strings.Split(string(f.Encode()), "\n") {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "key" {
			require.NotContains(t, out, words[2][:16])
		}
	}
	out, status = keyed(t, "list", "--key-file", cluster, "--cluster", "vault")
	require.Zero(t, status, out)
	require.Regexp(t, `(?m)^2 .* seals$`, out)

	out, status = keyed(t, "ban", "--lift", "--key-file", network, p)
	require.Zero(t, status, out)
	_, status = keyed(t, "ban", "--lift", "--key-file", network, p)
	require.NotZero(t, status)
}
