// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
)

func crossed() wire.Crossed {
	return wire.Crossed{
		Kind: wire.CrossedMessage, Carrier: 1, Stream: 2, Serial: 3, Lost: 4,
		Publisher: bytes.Repeat([]byte{'p'}, wire.MaxPeerID), Network: bytes.Repeat([]byte{'n'}, wire.MaxNetworkID),
	}
}

func TestWhatCrossedABorderSaysSoAtItsEnd(t *testing.T) {
	// This test takes the end off a content again, the longest one there is, and refuses
	// what is none: cut short, of an unknown kind, without a number, a publisher or a
	// network.
	tail := wire.AppendTail(nil, []wire.Header{{Key: "k", Value: "v"}}, []byte("body"))
	c := crossed()
	content := c.AppendTo(bytes.Clone(tail))
	got, said, ok := wire.CutCrossed(content)
	require.True(t, ok)
	require.Equal(t, tail, got)
	require.Equal(t, c, said)
	for i := range content {
		_, _, ok := wire.CutCrossed(content[:i])
		require.False(t, ok, i)
	}
	for name, change := range map[string]func(*wire.Crossed){
		"kind":      func(c *wire.Crossed) { c.Kind = 3 },
		"number":    func(c *wire.Crossed) { c.Serial = 0 },
		"too large": func(c *wire.Crossed) { c.Serial = wire.MaxNumber + 1 },
		"publisher": func(c *wire.Crossed) { c.Publisher = nil },
		"network":   func(c *wire.Crossed) { c.Network = nil },
	} {
		c := crossed()
		change(&c)
		_, _, ok := wire.CutCrossed(c.AppendTo(bytes.Clone(tail)))
		require.False(t, ok, name)
	}
}

func FuzzCutCrossed(f *testing.F) {
	c := crossed()
	f.Add(c.AppendTo(wire.AppendTail(nil, nil, []byte("body"))))
	f.Fuzz(func(t *testing.T, content []byte) {
		if tail, c, ok := wire.CutCrossed(content); ok {
			require.Equal(t, content, c.AppendTo(bytes.Clone(tail)))
		}
	})
}
