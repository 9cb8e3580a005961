// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/relay/internal/proof"
)

// page is the text of the specification.
func page(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	return regexp.MustCompile(`\n//[ \t]?`).ReplaceAllString(string(source), "\n")
}

// TestThePageIsComplete proves that the page lists every kind of the profile, at
// most twenty, every outcome and every code, under its number.
func TestThePageIsComplete(t *testing.T) {
	text := page(t)
	kinds := map[string]bool{}
	for _, m := range regexp.MustCompile(`\n\t?\s?(\d+) ([A-Z]\w+) +(ctl|rpc|pub|bulk|any) `).FindAllStringSubmatch(text, -1) {
		kinds[m[1]+" "+strings.ToLower(m[2])] = true
	}
	want := map[string]bool{}
	for _, k := range []wire.Kind{
		wire.KindHello, wire.KindBeat, wire.KindGoodbye, wire.KindNotice, wire.KindFragment, wire.KindAck, wire.KindVoid,
		wire.KindRequest, wire.KindReply, wire.KindCancel, wire.KindTunnelData, wire.KindTunnelCredit, wire.KindTunnelEnd,
		wire.KindTunnelReset, wire.KindPublish, wire.KindServe, wire.KindSubscribe, wire.KindLeave, wire.KindDone, wire.KindGap,
	} {
		want[fmt.Sprintf("%d %s", k, strings.ReplaceAll(k.String(), "_", ""))] = true
	}
	require.Equal(t, want, kinds)
	require.LessOrEqual(t, len(kinds), 20)
	for o := wire.Outcome(0); o < wire.OutcomeCount; o++ {
		require.Regexp(t, fmt.Sprintf(`\b%d %s`, o, strings.ReplaceAll(o.String(), "_", " ")), text)
	}
	for _, c := range []wire.EndCode{
		wire.EndShutdown, wire.EndVersion, wire.EndProtocol, wire.EndTimeout, wire.EndSilent, wire.EndFull, wire.EndReplaced,
		wire.EndToken, wire.EndUser, wire.EndOther,
	} {
		require.Regexp(t, fmt.Sprintf(`\b%d [a-zN]`, c), text)
	}
	for _, bound := range []int{wire.MaxFrame, wire.MaxHeaderBytes, wire.MaxToken, wire.MaxPayload} {
		s := fmt.Sprintf("%d,%03d", bound/1000, bound%1000)
		require.Contains(t, text, s)
	}
}

// TestTheExampleOnThePageIsASession plays the session on the page: what the
// client says there has the relay answer what the page says.
func TestTheExampleOnThePageIsASession(t *testing.T) {
	example := exampleOf(t, "# A session, byte by byte")
	require.NotEmpty(t, example)
	play(t, nil, func(t *testing.T, s *stage) {
		var b *binding
		for _, line := range example {
			if line.who == ">" && line.raw[4] == byte(wire.KindHello) {
				b = s.dial()
				b.read()
			}
			if line.who == ">" {
				b.write(line.raw)
				continue
			}
			if line.raw[4] == byte(wire.KindNotice) { // that the relay shuts down
				go s.relay.Shutdown(t.Context())
			}
			lane, k, body := b.nextFrame()
			got := wire.AppendFrame(nil, lane, k, body)
			require.True(t, line.fits(got), "%s\nwant %s\ngot  %x", line.text, line.pattern, got)
		}
	})
}

// exampleLine is one frame of the example. Where the pattern has a dot, the digit
// is the relay's choice.
type exampleLine struct {
	who, pattern, text string
	raw                []byte
}

func (l exampleLine) fits(got []byte) bool {
	return regexp.MustCompile("^" + l.pattern + "$").MatchString(hex.EncodeToString(got))
}

// TestTheProofsOnThePageAreRight proves the handshake with a token that the page
// shows.
func TestTheProofsOnThePageAreRight(t *testing.T) {
	x := proof.Exchange{Client: [32]byte(bytes.Repeat([]byte{0x11}, 32)), Relay: [32]byte(bytes.Repeat([]byte{0x22}, 32)), Address: "127.0.0.1:4078"}
	own := x.OfClient(letters)
	h := wire.LeafHello{MinVersion: 1, MaxVersion: 1, Features: wire.FeatureResume, Clock: 1, Name: "py", Proof: own[:]}
	h.Instance[0] = 1
	var got []string
	for _, m := range []message{
		&wire.LeafChallenge{Nonce: x.Client},
		&wire.RelayProof{Nonce: x.Relay, Proofs: [][wire.LeafProofSize]byte{x.OfRelay(letters)}},
		&h,
	} {
		got = append(got, hex.EncodeToString(frame(wire.LaneCtl, wire.KindHello, m)))
	}
	var want []string
	for _, line := range exampleOf(t, "# Tokens") {
		want = append(want, line.pattern)
	}
	require.Equal(t, got, want)
}

// exampleOf reads the frames that a section shows.
func exampleOf(t *testing.T, section string) (lines []exampleLine) {
	t.Helper()
	_, text, found := strings.Cut(page(t), section)
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n# ")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "> "), strings.HasPrefix(line, "< "):
			lines = append(lines, exampleLine{who: line[:1], text: line[2:]})
		case len(lines) > 0 && regexp.MustCompile(`^[0-9a-f.]+( [0-9a-f.]+)*$`).MatchString(line):
			lines[len(lines)-1].pattern += strings.ReplaceAll(line, " ", "")
		}
	}
	for i := range lines {
		raw, err := hex.DecodeString(strings.ReplaceAll(lines[i].pattern, ".", "0"))
		require.NoError(t, err, lines[i].text)
		lines[i].raw = raw
	}
	return lines
}
