// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

func TestKeysAreRotatedListedAndPeersBanned(t *testing.T) {
	// This test rotates the keys of a network and of a cluster, lists them without any
	// key in the output, and bans a peer and lifts the ban.
	dir := t.TempDir()
	network, cluster := filepath.Join(dir, "home.key"), filepath.Join(dir, "vault.key")
	ran(t, 0, "keygen", "--network", "home", "--out", network)
	ran(t, 0, "keygen", "--cluster", "vault", "--out", cluster)

	rotated := ran(t, 0, "key", "rotate", "--key-file", network, "--overlap", "2h")
	require.Contains(t, rotated.out.String(), "key version 2")
	f, err := security.ReadNetworkFile(network)
	require.NoError(t, err)
	require.Len(t, f.Keys, 2)
	require.Equal(t, 2*time.Hour, f.Keys[0].NotAfter.Sub(f.Keys[1].NotBefore))

	ran(t, 0, "key", "rotate", "--key-file", cluster, "--cluster", "vault", "--overlap", "0")
	refused(t, `the file of cluster "vault", not of "other"`, "key", "rotate", "--key-file", cluster, "--cluster", "other")
	refused(t, "say so with --cluster vault", "key", "rotate", "--key-file", cluster)

	k, err := security.GenerateNodeKey(rand.Reader)
	require.NoError(t, err)
	p := k.PeerID().String()
	ran(t, 0, "key", "ban", "--key-file", network, p)
	refused(t, "no peer id", "key", "ban", "--key-file", network, "nobody")

	out := ran(t, 0, "key", "list", "--key-file", network).out.String()
	require.Regexp(t, `(?m)^1 .* accepted$`, out)
	require.Regexp(t, `(?m)^2 .* seals$`, out)
	require.Regexp(t, `(?m)^ban +`+p+`$`, out)
	for _, line := range strings.Split(string(f.Encode()), "\n") {
		if words := strings.Fields(line); len(words) > 2 && words[0] == "key" {
			require.NotContains(t, out, words[2][:16])
		}
	}
	out = ran(t, 0, "key", "list", "--key-file", cluster, "--cluster", "vault").out.String()
	require.Regexp(t, `(?m)^2 .* seals$`, out)

	ran(t, 0, "key", "ban", "--lift", "--key-file", network, p)
	refused(t, "is not banned", "key", "ban", "--lift", "--key-file", network, p)
}
