// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

const (
	hexID   = "000102030405060708090a0b0c0d0e0f"
	hexKey  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	hexKey2 = "ccccccccccccccccccccccccccccccccdddddddddddddddddddddddddddddddd"
)

// TestNetworkFileSurvivesItsText proves the round trip, with several keys and
// through the file.
func TestNetworkFileSurvivesItsText(t *testing.T) {
	f := newFile(t, "my-net_1.0")
	f.Keys = append(f.Keys, versions(2, 9)...)
	got, err := security.ParseNetworkFile(f.Encode())
	require.NoError(t, err)
	require.Equal(t, f, got)

	path := filepath.Join(t.TempDir(), "network")
	require.NoError(t, security.WriteNetworkFile(path, f))
	got, err = security.ReadNetworkFile(path)
	require.NoError(t, err)
	require.Equal(t, f, got)
}

// TestNetworkFileFormatIsFixed proves that files written by this release look
// as they did.
func TestNetworkFileFormatIsFixed(t *testing.T) {
	text := golden(t, "network.txt")
	f, err := security.ParseNetworkFile(text)
	require.NoError(t, err)
	require.Equal(t, "example", f.Name)
	require.Equal(t, hexID, f.ID.String())
	require.Len(t, f.Keys, 2)
	require.Equal(t, byte(0xbb), f.Keys[0].Key[31])
	require.Equal(t, string(text), string(f.Encode()))
}

// TestNetworkFileFitsAnEnvironmentVariable proves that line breaks, spaces and
// comments are free, and that semicolons stand for line breaks.
func TestNetworkFileFitsAnEnvironmentVariable(t *testing.T) {
	want, err := security.ParseNetworkFile([]byte("arke-network 2\nname n\nid " + hexID + "\nkey 1 " + hexKey + "\n"))
	require.NoError(t, err)
	for _, text := range []string{
		"arke-network 2;name n;id " + hexID + ";key 1 " + hexKey,
		"  arke-network 2 ; key 1 " + hexKey + ";; id " + hexID + " ; name n ;",
		"# a comment; with a semicolon\r\narke-network 2\r\n\r\nname\tn\r\nid " + hexID + "\r\n  # more\r\nkey 1 " + hexKey,
		"arke-network 2;name n;id " + strings.ToUpper(hexID) + ";key 1 " + strings.ToUpper(hexKey),
	} {
		got, err := security.ParseNetworkFile([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got)
	}
}

// TestMalformedNetworkFilesSayWhatToDo proves that the parser is strict, that
// each error names the place and a remedy, and that none repeats a key.
func TestMalformedNetworkFilesSayWhatToDo(t *testing.T) {
	head := "arke-network 2\n"
	name, id, key := "name n\n", "id "+hexID+"\n", "key 1 "+hexKey+"\n"
	for what, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":               {"", []string{"empty", "make a new one"}},
		"only comments":       {"# x\n", []string{"empty"}},
		"another format":      {"{}", []string{"line 1", `"arke-network 2"`}},
		"a node key":          {"arke-node-key 1\nseed " + hexKey, []string{"line 1", "another kind of file"}},
		"bare key":            {hexKey, []string{"line 1"}},
		"no format version":   {"arke-network\n" + name + id + key, []string{"line 1", "`arke-network 2`"}},
		"later version":       {"arke-network 3\n" + name + id + key, []string{"line 1", "version 2"}},
		"unknown field":       {head + name + "owner me\n" + id + key, []string{"line 3", `"owner"`, "remove the line"}},
		"key without word":    {head + name + id + hexKey, []string{"line 4", "remove the line"}},
		"key broken in two":   {head + name + id + "key 1 " + hexKey[:52] + "\n" + hexKey[52:], []string{"line 4", "64 hexadecimal"}},
		"no name":             {head + id + key, []string{`no "name" line`, "copy"}},
		"no id":               {head + name + key, []string{`no "id" line`}},
		"no key":              {head + name + id, []string{`no "key" line`}},
		"two names":           {head + name + name + id + key, []string{"line 3", "line 2", "remove one"}},
		"two ids":             {head + name + id + id + key, []string{"line 4", "line 3"}},
		"name of two words":   {head + "name a b\n" + id + key, []string{"line 2", "`name NAME`"}},
		"name without value":  {head + "name\n" + id + key, []string{"line 2", "`name NAME`"}},
		"name with a slash":   {head + "name a/b\n" + id + key, []string{"line 2", "letters"}},
		"name too long":       {head + "name " + strings.Repeat("x", 64) + "\n" + id + key, []string{"line 2", "1 to 63"}},
		"short id":            {head + name + "id 00\n" + key, []string{"line 3", "32 hexadecimal"}},
		"id of zeros":         {head + name + "id " + strings.Repeat("0", 32) + "\n" + key, []string{"id is all zeros", "arke keygen"}},
		"id not hexadecimal":  {head + name + "id " + strings.Repeat("x", 32) + "\n" + key, []string{"line 3", "32 hexadecimal"}},
		"short key":           {head + name + id + "key 1 " + hexKey[2:], []string{"line 4", "64 hexadecimal"}},
		"odd key":             {head + name + id + "key 1 " + hexKey[1:], []string{"line 4", "64 hexadecimal"}},
		"long key":            {head + name + id + "key 1 " + hexKey + "aa", []string{"line 4", "64 hexadecimal"}},
		"key not hexadecimal": {head + name + id + "key 1 " + hexKey[:63] + "x", []string{"line 4", "64 hexadecimal"}},
		"key of zeros":        {head + name + id + "key 1 " + strings.Repeat("0", 64), []string{"line 4", "all zeros", "arke keygen"}},
		"key without version": {head + name + id + "key " + hexKey, []string{"line 4", "`key VERSION HEX`"}},
		"values swapped":      {head + name + id + "key " + hexKey + " 1", []string{"line 4", "`key VERSION HEX`"}},
		"version 0":           {head + name + id + "key 0 " + hexKey, []string{"line 4", "from 1"}},
		"negative version":    {head + name + id + "key -1 " + hexKey, []string{"line 4", "from 1"}},
		"version too large":   {head + name + id + "key 4294967296 " + hexKey, []string{"line 4", "from 1"}},
		"duplicate version":   {head + name + id + key + "key 1 " + hexKey2, []string{"line 5", "version 1", "once"}},
		"falling versions":    {head + name + id + "key 2 " + hexKey2 + "\n" + key, []string{"line 5", "rising"}},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := security.ParseNetworkFile([]byte(c.text))
			require.ErrorIs(t, err, security.ErrBadFile)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			for _, digits := range []string{"aaaa", "bbbb", "cccc", "dddd"} {
				require.NotContains(t, strings.ToLower(err.Error()), digits)
			}
		})
	}
}

// TestNetworksAreNotMadeOfBadParts proves that a value which no file could hold
// is refused wherever one is taken.
func TestNetworksAreNotMadeOfBadParts(t *testing.T) {
	for what, change := range map[string]func(*security.NetworkFile){
		"no name":      func(f *security.NetworkFile) { f.Name = "" },
		"bad name":     func(f *security.NetworkFile) { f.Name = "a\nkey 2" },
		"no id":        func(f *security.NetworkFile) { f.ID = security.NetworkID{} },
		"no key":       func(f *security.NetworkFile) { f.Keys = nil },
		"zero key":     func(f *security.NetworkFile) { f.Keys[0].Key = security.Key{} },
		"no version":   func(f *security.NetworkFile) { f.Keys[0].Version = 0 },
		"same version": func(f *security.NetworkFile) { f.Keys = append(f.Keys, f.Keys[0]) },
		"falling":      func(f *security.NetworkFile) { f.Keys = append(versions(2), f.Keys...) },
		"zero old key": func(f *security.NetworkFile) {
			f.Keys = append(f.Keys, versions(2, 3)...)
			f.Keys[0].Key = security.Key{}
		},
		"nothing at all": func(f *security.NetworkFile) { *f = security.NetworkFile{} },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFile(t, "net")
			change(&f)
			_, err := security.NewNetwork(f)
			require.Error(t, err)
			path := filepath.Join(t.TempDir(), "network")
			require.Error(t, security.WriteNetworkFile(path, f))
			require.NoFileExists(t, path)
		})
	}
	_, err := security.GenerateNetworkFile("a b", seeded("x"))
	require.ErrorIs(t, err, security.ErrBadName)
}

// TestKeyFilesMustBeTheOwnersAlone proves which modes are accepted, for both
// kinds of key file, and that the error says how to repair the others.
func TestKeyFilesMustBeTheOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	network, node := filepath.Join(dir, "network"), filepath.Join(dir, "it's a node")
	require.NoError(t, security.WriteNetworkFile(network, newFile(t, "net")))
	require.NoError(t, security.WriteNodeKey(node, newNodeKey(t, "node")))
	for mode, ok := range map[fs.FileMode]bool{
		0o600: true, 0o400: true, 0o440: true, // the group is ours
		0o644: false, 0o640: false, 0o604: false, 0o660: false, 0o620: false, 0o602: false,
		0o601: false, 0o700: false, 0o777: false,
	} {
		for path, read := range map[string]func() error{
			network: func() error { _, err := security.ReadNetworkFile(network); return err },
			node:    func() error { _, err := security.LoadNodeKey(node); return err },
		} {
			require.NoError(t, os.Chmod(path, mode))
			err := read()
			if ok {
				require.NoError(t, err, "%04o", mode)
				continue
			}
			require.ErrorIs(t, err, security.ErrLooseMode, "%04o", mode)
			require.ErrorContains(t, err, "0600")
		}
	}
	require.NoError(t, os.Chmod(network, 0o644))
	_, err := security.ReadNetworkFile(network)
	require.ErrorContains(t, err, "`chmod 600 "+network+"`")
	require.ErrorContains(t, err, "0644")
	require.NoError(t, os.Chmod(node, 0o644))
	_, err = security.LoadNodeKey(node)
	require.ErrorContains(t, err, "`chmod 600 '"+dir+`/it'\''s a node'`+"`")
}

// TestKeyFilesAreCreatedPrivateAndNeverOverwritten proves the mode of new files
// and that an existing key is safe.
func TestKeyFilesAreCreatedPrivateAndNeverOverwritten(t *testing.T) {
	k := newNodeKey(t, "node")
	for name, write := range map[string]func(path string) error{
		"network": func(path string) error { return security.WriteNetworkFile(path, newFile(t, "net")) },
		"node":    func(path string) error { return security.WriteNodeKey(path, k) },
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, write(path))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode())
		before := read(t, path)
		err = write(path)
		require.ErrorIs(t, err, fs.ErrExist)
		require.ErrorContains(t, err, path)
		require.Equal(t, before, read(t, path))
	}
}

// TestUnreadableKeyFilesAreNamed proves the errors for what is no key file.
func TestUnreadableKeyFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	_, err := security.ReadNetworkFile(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = security.ReadNetworkFile(dir)
	require.ErrorContains(t, err, "directory")
	large := filepath.Join(dir, "large")
	require.NoError(t, os.WriteFile(large, make([]byte, 1<<20), 0o600))
	_, err = security.ReadNetworkFile(large)
	require.ErrorContains(t, err, "too large")
	bad := filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(bad, []byte("arke-network 2\nfoo bar\n"), 0o600))
	_, err = security.ReadNetworkFile(bad)
	require.ErrorIs(t, err, security.ErrBadFile)
	require.ErrorContains(t, err, bad)
	require.ErrorContains(t, err, "line 2")
}

// FuzzParseNetworkFile proves that no text makes the parser panic, that what it
// accepts can be used, and that its errors repeat no key.
func FuzzParseNetworkFile(f *testing.F) {
	f.Add([]byte("arke-network 2\nname n\nid " + hexID + "\nkey 1 " + hexKey + "\nkey 2 " + hexKey2 + "\n"))
	f.Add([]byte("arke-network 2;name n;id " + hexID))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := security.ParseNetworkFile(text)
		if err != nil {
			require.ErrorIs(t, err, security.ErrBadFile)
			require.NotContains(t, err.Error(), hexKey[:20])
			return
		}
		again, err := security.ParseNetworkFile(file.Encode())
		require.NoError(t, err)
		require.Equal(t, file, again)
		_, err = security.NewNetwork(file)
		require.NoError(t, err)
	})
}
