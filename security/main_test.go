// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a source of bytes that are the same in each run. Not for
// concurrent use.
type stream struct {
	name  string
	count uint64
	rest  []byte
}

func seeded(name string) *stream { return &stream{name: name} }

func (s *stream) Read(b []byte) (int, error) {
	for n := 0; n < len(b); {
		if len(s.rest) == 0 {
			block := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(s.name), s.count))
			s.rest = block[:]
			s.count++
		}
		m := copy(b[n:], s.rest)
		n, s.rest = n+m, s.rest[m:]
	}
	return len(b), nil
}

func newKey(name string) (k security.Key) {
	_, _ = seeded(name).Read(k[:])
	return k
}

func newNodeKey(t testing.TB, name string) security.NodeKey {
	t.Helper()
	k, err := security.GenerateNodeKey(seeded(name))
	require.NoError(t, err)
	return k
}

func newPeer(t testing.TB, name string) peer.ID {
	t.Helper()
	return newNodeKey(t, name).PeerID()
}

// read returns what a file has.
func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// golden returns a file of testdata.
func golden(t *testing.T, name string) []byte {
	t.Helper()
	return read(t, filepath.Join("testdata", name))
}

func newFile(t testing.TB, name string) security.NetworkFile {
	t.Helper()
	f, err := security.GenerateNetworkFile(name, seeded(name))
	require.NoError(t, err)
	return f
}

func newNetwork(t testing.TB, f security.NetworkFile) *security.Network {
	t.Helper()
	n, err := security.NewNetwork(f)
	require.NoError(t, err)
	return n
}

// versions makes a list of keys with these versions, the same in each call.
func versions(numbers ...uint32) []security.KeyVersion {
	var keys []security.KeyVersion
	for _, v := range numbers {
		keys = append(keys, security.KeyVersion{Version: v, Key: newKey("version" + string(rune('0'+v)))})
	}
	return keys
}
