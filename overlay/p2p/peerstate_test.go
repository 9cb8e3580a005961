// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay"
)

// fakeStream is a stream that only can be told from others.
type fakeStream struct {
	overlay.Stream
	name string
}

// This test checks what the handler is told after events came in: u a
// connection stands, d one is gone, other letters a stream arrived; U and D the same
// of a peer that shows no certificate, n asks for the next call, of which U is PeerUp, D
// PeerDown, - nothing.
func TestPeerStateTellsInOrder(t *testing.T) {
	for _, c := range []struct{ events, calls, about string }{
		{"unn", "U-", "up once"},
		{"unuunddn", "U--", "further connections are no news, nor is losing them"},
		{"undnn", "UD-", "down"},
		{"udn", "-", "too short to tell anybody"},
		{"unudn", "U-", "still one"},
		{"undunnn", "UDU-", "away for a moment"},
		{"undudn", "UD", "away, back, and away again: the handler was late"},
		{"undudunnn", "UDU-", "the same, and back"},
		{"uaabnnnnn", "Uaab-", "streams follow"},
		{"unadnn", "UD-", "a stream of a connection that is gone is dropped"},
		{"unadubnnnn", "UDUb-", "but not one of the next"},
		{"UnDnn", "---", "a peer without a certificate is nobody"},
		{"UannDn", "a--", "but for its streams"},
		{"UnanununDnnd", "-aU---", "then it shows one"},
		{"uUnndnnDn", "U-D--", "and then none that counts"},
	} {
		var s peerState
		var calls strings.Builder
		for _, e := range strings.Split(c.events, "") {
			switch e {
			case "u":
				s.connUp(true)
			case "U":
				s.connUp(false)
			case "d":
				s.connDown(true)
			case "D":
				s.connDown(false)
			case "n":
				call, x := s.next()
				switch call {
				case callUp:
					calls.WriteString("U")
				case callDown:
					calls.WriteString("D")
				case callStream:
					calls.WriteString(x.(fakeStream).name)
				case callNone:
					calls.WriteString("-")
				}
			default:
				require.True(t, s.offer(fakeStream{name: e}))
			}
		}
		require.Equal(t, c.calls, calls.String(), c.about)
	}
}

// This test checks that streams wait in a bounded number, that those which
// were never handed over come back when the peer is lost, and that nothing is
// remembered of a peer that is gone.
func TestPeerStateKeepsLittle(t *testing.T) {
	var s peerState
	require.True(t, s.idle())
	s.connUp(true)
	s.next()
	for range maxBacklog {
		require.True(t, s.offer(fakeStream{}))
	}
	require.False(t, s.offer(fakeStream{}))
	require.Len(t, s.connDown(true), maxBacklog)
	require.False(t, s.idle())
	s.next()
	require.True(t, s.idle())
}
