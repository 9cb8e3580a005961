// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

// ascending gives the bytes 0, 1, 2 …
type ascending struct{}

func (ascending) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(i)
	}
	return len(b), nil
}

// constant gives the same byte for ever.
type constant byte

func (c constant) Read(b []byte) (int, error) {
	return copy(b, bytes.Repeat([]byte{byte(c)}, len(b))), nil
}

// TestFormatsAgreeWithASecondImplementation proves every derivation, signature
// and seal against vectors that another program made from the descriptions in
// this package. They also hold the formats fixed.
func TestFormatsAgreeWithASecondImplementation(t *testing.T) {
	vectors, f := readVectors(t), fileOfVectors(t)
	n := newNetwork(t, f)
	node, err := security.GenerateNodeKey(ascending{})
	require.NoError(t, err)
	p := node.PeerID()
	require.Equal(t, vectors["peer"], []byte(p))
	require.Equal(t, vectors["label mdns"], n.Label("mdns"))
	require.Equal(t, vectors["admission"], n.Admit(p))
	require.NoError(t, n.CheckAdmission(p, vectors["admission"]))
	greeting := n.Greet([]byte("hello"))
	require.Equal(t, vectors["greeting"], greeting[:])

	c := n.Cluster("geo")
	epochs := c.Epochs(noon)
	require.Len(t, epochs, 2)
	for i, version := range []string{"2", "1"} {
		id := epochs[i].ID()
		require.Equal(t, vectors["cid "+version], id[:])
		require.Equal(t, vectors["public key "+version], epochs[i].PublicKey())
		require.Equal(t, vectors["proof "+version], epochs[i].Prove(p))
		require.NoError(t, security.VerifyProof(id, vectors["public key "+version], vectors["proof "+version], p))
	}

	id := c.KeyID()
	require.Equal(t, vectors["key id 2"], id[:])
	older := f
	older.Keys = f.Keys[:1]
	id = newNetwork(t, older).Cluster("geo").KeyID()
	require.Equal(t, vectors["key id 1"], id[:])
	id = security.KeySetID("geo", f.Keys)
	require.Equal(t, vectors["key set"], id[:])

	require.Equal(t, vectors["record"], epochs[0].SealRecord(constant(0x5a), []byte("record")))
	plain, err := epochs[0].OpenRecord(vectors["record"])
	require.NoError(t, err)
	require.Equal(t, "record", string(plain))
	lease := security.Lease{
		Network: n.ID(), Cluster: epochs[0].ID(), Peer: p, Member: 2, Incarnation: 3, Record: vectors["record"],
	}
	require.Equal(t, vectors["lease"], node.SignLease(lease))
	require.NoError(t, security.VerifyLease(lease, vectors["lease"]))

	finding := security.Finding(f.Keys[1:])
	require.Equal(t, vectors["finding key"], finding[0].Key[:])
	finder := security.NewFinder("geo", []security.KeyVersion{{Version: 2, Key: security.Key(vectors["finding key geo"])}}).Epochs(noon)[0]
	require.Equal(t, epochs[0].ID(), finder.ID())
	require.Equal(t, vectors["record parts"], epochs[0].SealRecordParts(constant(0x5a), []byte("record"), []byte("reach")))
	passed, ok := security.PassedRecord(vectors["record parts"])
	require.True(t, ok)
	require.Equal(t, vectors["record passed"], passed)
	require.Equal(t, vectors["record lent"], finder.SealLent(constant(0x5a), []byte("lent")))
	lease.Record = vectors["record parts"]
	require.Equal(t, vectors["lease parts"], node.SignLease(lease))
	lease.Record = passed
	require.NoError(t, security.VerifyLease(lease, vectors["lease parts"]))

	b := security.Binding{Sender: p, SenderIncarnation: 1, Member: 2, MemberIncarnation: 3, RequestID: 4}
	for _, v := range []struct {
		name, plain string
		reply       bool
		pattern     uint8
	}{
		{"request 0", "payload", false, 0},
		{"request 1", "payload", false, 0}, // the same salt, the next counter
		{"reply 0", "", true, 0},
		{"push 2", "payload", false, 2},
	} {
		b.Reply, b.Pattern = v.reply, v.pattern
		require.Equal(t, vectors[v.name], c.Seal(constant(0x5a), b, nil, []byte(v.plain)), v.name)
		plain, err := n.Cluster("geo").Open(b, vectors[v.name])
		require.NoError(t, err)
		require.Equal(t, v.plain, string(plain))
	}
}

// TestAgreementsAgreeWithASecondImplementation proves the same for what is sealed with
// what two nodes have agreed on.
func TestAgreementsAgreeWithASecondImplementation(t *testing.T) {
	vectors := readVectors(t)
	n := newNetwork(t, fileOfVectors(t))
	caller, member := security.NewEphemerals(constant(0xc1), noon), security.NewEphemerals(constant(0xd2), noon)
	for name, e := range map[string]*security.Ephemerals{"ephemeral caller": caller, "ephemeral member": member} {
		public := e.Public()
		require.Equal(t, vectors[name], public[:])
	}
	c := n.Cluster("geo")
	b := security.Binding{Sender: peer.ID(vectors["peer"]), SenderIncarnation: 1, Member: 2, MemberIncarnation: 3, RequestID: 4}
	asks, err := caller.With(member.Public())
	require.NoError(t, err)
	answers, err := member.Agreed(c, b, vectors["agreed request 0"])
	require.NoError(t, err)
	for _, v := range []struct {
		name, plain string
		reply       bool
		pattern     uint8
		from, to    *security.Agreement
	}{
		{"agreed request 0", "payload", false, 0, asks, answers},
		{"agreed request 1", "payload", false, 0, asks, answers},
		{"agreed reply 0", "", true, 0, answers, asks},
		{"agreed push 2", "payload", false, 2, asks, answers},
	} {
		b.Reply, b.Pattern, b.Agreement = v.reply, v.pattern, v.from
		require.Equal(t, vectors[v.name], c.Seal(constant(0x5a), b, nil, []byte(v.plain)), v.name)
		b.Agreement = v.to
		plain, err := n.Cluster("geo").Open(b, vectors[v.name])
		require.NoError(t, err)
		require.Equal(t, v.plain, string(plain))
	}
}

// TestVouchesAgreeWithASecondImplementation proves the same for what the holder of a
// network's key says to all nodes.
func TestVouchesAgreeWithASecondImplementation(t *testing.T) {
	vectors, n := readVectors(t), newNetwork(t, fileOfVectors(t))
	p := string(vectors["peer"])
	require.Equal(t, vectors["vouch"], n.Vouch(1, p, 3, nil))
	require.NoError(t, n.CheckVouch(vectors["vouch"], 1, p, 3, nil))
	require.Equal(t, vectors["vouch body"], n.Vouch(1, "x", 3, []byte("body")))
	require.NoError(t, n.CheckVouch(vectors["vouch body"], 1, "x", 3, []byte("body")))
}

func fileOfVectors(t *testing.T) security.NetworkFile {
	t.Helper()
	f, err := security.ParseNetworkFile(golden(t, "network.txt"))
	require.NoError(t, err)
	return f
}

// TestStreamsAgreeWithASecondImplementation proves the same for the streams of
// tunnels.
func TestStreamsAgreeWithASecondImplementation(t *testing.T) {
	vectors := readVectors(t)
	c := newNetwork(t, fileOfVectors(t)).Cluster("geo")
	require.Equal(t, vectors["stream head"], c.NewStreamHead(constant(0x5a)))
	b := security.StreamBinding{
		Opener: peer.ID(vectors["peer"]), OpenerIncarnation: 1, Member: 2, MemberIncarnation: 3, Tunnel: 4,
	}
	salt := security.NewStreamSalt(constant(0xa5))
	opener, err := c.Stream(b, vectors["stream head"], salt, true)
	require.NoError(t, err)
	member, err := c.Stream(b, vectors["stream head"], salt, false)
	require.NoError(t, err)
	for _, v := range []struct {
		name, plain string
		data        byte
		from, to    *security.Stream
	}{
		{"stream opener 0", "chunk", 1, opener, member},
		{"stream opener 1", "chunk", 3, opener, member},
		{"stream member 0", "", 2, member, opener},
	} {
		require.Equal(t, vectors[v.name], v.from.Seal(nil, []byte(v.plain), v.data), v.name)
		plain, err := v.to.Open(vectors[v.name], v.data)
		require.NoError(t, err)
		require.Equal(t, v.plain, string(plain))
	}
	require.Equal(t, vectors["stream opener credit"], opener.SealCredit(nil, 1<<16, 1))
	require.NoError(t, member.OpenCredit(vectors["stream opener credit"], 1<<16, 1))
	require.Equal(t, vectors["stream member credit"], member.SealCredit(nil, 1<<33, 0))
	require.NoError(t, opener.OpenCredit(vectors["stream member credit"], 1<<33, 0))
	require.Equal(t, vectors["stream opener reset"], opener.SealReset(nil, []byte("why"), 9))
	require.Equal(t, vectors["stream member reset"], member.SealReset(nil, nil, 8))
	why, err := member.OpenReset(vectors["stream opener reset"], 9)
	require.NoError(t, err)
	require.Equal(t, "why", string(why))
}

// readVectors reads "name: hex" lines; the two numbers in the file are for
// people and are skipped.
func readVectors(t *testing.T) map[string][]byte {
	t.Helper()
	out := make(map[string][]byte)
	for text := range strings.Lines(string(golden(t, "vectors.txt"))) {
		name, digits, ok := strings.Cut(strings.TrimSpace(text), ": ")
		if !ok || strings.HasPrefix(name, "#") || name == "offset" || name == "epoch" {
			continue
		}
		b, err := hex.DecodeString(digits)
		require.NoError(t, err, name)
		out[name] = b
	}
	require.Len(t, out, 47)
	return out
}
