// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// TestClusterFileSurvivesItsText proves the round trip, in memory and through the
// file, also of names that a line can't hold as they are.
func TestClusterFileSurvivesItsText(t *testing.T) {
	for _, name := range []string{"geo", "topic:täglich", "two words", "a;b#c%20", "日本\u00a0語"} {
		f, err := security.GenerateClusterFile(name, seeded(name))
		require.NoError(t, err)
		f.Keys = append(f.Keys, timed(2, "2027-01-01T00:00:00Z", ""), timed(7, "2027-01-01T00:00:00Z", "2028-02-29T23:59:59Z"))
		got, err := security.ParseClusterFile(f.Encode())
		require.NoError(t, err, name)
		require.Equal(t, f, got)

		path := filepath.Join(t.TempDir(), "cluster")
		require.NoError(t, security.WriteClusterFile(path, f))
		got, err = security.ReadClusterFile(path)
		require.NoError(t, err)
		require.Equal(t, f, got)
	}
	for _, name := range []string{
		"", "a\nb", "a\xff", strings.Repeat("x", 256), "geo@eu", "$status", " geo", "geo ", "geo#0123456789abcdef",
	} {
		_, err := security.GenerateClusterFile(name, seeded("x"))
		require.ErrorIs(t, err, security.ErrBadName)
	}
}

// TestKeyFileFormatsAreFixed proves that files written by this release look as
// they did, with times and bans.
func TestKeyFileFormatsAreFixed(t *testing.T) {
	text := golden(t, "cluster.txt")
	c, err := security.ParseClusterFile(text)
	require.NoError(t, err)
	require.Equal(t, "two words", c.Name)
	require.Equal(t, string(text), string(c.Encode()))

	text = golden(t, "network-bans.txt")
	n, err := security.ParseNetworkFile(text)
	require.NoError(t, err)
	require.Equal(t, []peer.ID{newPeer(t, "mallory")}, n.Bans)
	require.Equal(t, time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC), n.Keys[0].NotAfter)
	require.Equal(t, string(text), string(n.Encode()))
}

// TestMalformedKeyLinesSayWhatToDo proves that the parser of keys, times and bans
// is strict in both kinds of file, and says what to do.
func TestMalformedKeyLinesSayWhatToDo(t *testing.T) {
	key, p := "key 1 "+hexKey, newPeer(t, "mallory").String()
	for text, want := range map[string]string{
		key + " not-before":                                                     "values",
		key + " not-before yesterday":                                           "2027-01-31T12:00:00Z",
		key + " from 2027-01-01T00:00:00Z":                                      "times of key version 1",
		key + " not-before 2027-01-01T00:00:00+01:00":                           "2027-01-31T12:00:00Z",
		key + " not-before 2027-01-01T00:00:00.5Z":                              "2027-01-31T12:00:00Z",
		key + " not-after 1969-12-31T00:00:00Z":                                 "1970",
		key + " not-after 2027-01-01T00:00:00Z not-before 2026-01-01T00:00:00Z": "can't be read",
		key + " not-after 2027-01-01T00:00:00Z not-after 2027-01-01T00:00:00Z":  "can't be read",
		key + " not-before 2027-01-01T00:00:00Z not-after 2027-01-01T00:00:00Z": "ends before",
	} {
		_, err := security.ParseClusterFile([]byte("arke-cluster 2\nname n\n" + text))
		require.ErrorIs(t, err, security.ErrBadFile, text)
		require.ErrorContains(t, err, "line 3")
		require.ErrorContains(t, err, want)
		_, err = security.ParseNetworkFile([]byte("arke-network 2\nname n\nid " + hexID + "\n" + text))
		require.ErrorIs(t, err, security.ErrBadFile, text)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{
		"ban":                     "`ban PEERID`",
		"ban nobody":              "no peer id",
		"ban " + p + "\nban " + p: "twice",
		// The same hash as a peer id has, of a key that is not in it.
		"ban QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N": "no peer id",
	} {
		_, err := security.ParseNetworkFile([]byte("arke-network 2\nname n\nid " + hexID + "\n" + key + "\n" + text))
		require.ErrorIs(t, err, security.ErrBadFile, text)
		require.ErrorContains(t, err, want)
	}
	_, err := security.ParseClusterFile([]byte("arke-cluster 2\nname n\n" + key + "\nban " + p))
	require.ErrorContains(t, err, `"name" and "key"`)
	_, err = security.ParseClusterFile([]byte("arke-cluster 2\nname a%0Ab\n" + key))
	require.ErrorContains(t, err, "%20")
}

// FuzzParseClusterFile proves that no text makes the parser panic, and that what it
// accepts survives its text.
func FuzzParseClusterFile(f *testing.F) {
	f.Add([]byte("arke-cluster 2\nname two%20words\nkey 1 " + hexKey + " not-before 2027-01-01T00:00:00Z\nkey 2 " + hexKey2 + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := security.ParseClusterFile(text)
		if err != nil {
			require.ErrorIs(t, err, security.ErrBadFile)
			require.NotContains(t, err.Error(), hexKey[:20])
			return
		}
		again, err := security.ParseClusterFile(file.Encode())
		require.NoError(t, err)
		require.Equal(t, file, again)
	})
}

// timed returns a key with bounds.
func timed(version uint32, notBefore, notAfter string) security.KeyVersion {
	k := versions(version)[0]
	for at, text := range map[*time.Time]string{&k.NotBefore: notBefore, &k.NotAfter: notAfter} {
		if text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				panic(err)
			}
			*at = t
		}
	}
	return k
}
