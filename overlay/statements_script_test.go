// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	story "github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/internal/wire"
)

// TestStatementScripts plays the stories in testdata/statements against the core that
// knows which statements hold and who has to be told. There are two subjects of bans
// at most, and even numbers say that there is none. After each step it prints what peers are owed.
//
//	up PEER                    a session with a peer begins; down PEER = it ends
//	hear SUBJECT NUMBER PEER   a statement that is true comes from a peer; without one it is ours
//	tell PEER                  the peer is sent the first that it is owed
//	refuse PEER                what the peer has said was not true
//	recheck                    what was not true may be by now
//	wait TIME                  so much time passes
//	late                       who has said something too fast is to be asked
//	asked PEER                 the peer asks for all that holds
func TestStatementScripts(t *testing.T) {
	story.Run(t, "testdata/statements", func() func(story.Step) []string {
		c := newStatements()
		c.topic(wire.Statement_BAN, 2, func(s *Statement) bool { return s.Number%2 == 0 })
		now := int64(0)
		return func(d story.Step) (out []string) {
			switch d.Cmd {
			case "up":
				c.up(peer.ID(d.Word(0)))
			case "down":
				c.down(peer.ID(d.Word(0)))
			case "hear":
				var from peer.ID
				if len(d.Words()) > 2 {
					from = peer.ID(d.Word(2))
				}
				s := Statement{Topic: wire.Statement_BAN, Subject: d.Word(0), Number: uint64(d.Number(1))}
				verdict := c.judge(&s)
				if verdict == judgeStale {
					c.knows(from, &s)
				}
				if taken := c.take(s, from, now); taken == judgeLate && verdict == judgeNews {
					c.postpone(from, s.Topic)
					verdict = judgeLate
				} else if taken != verdict {
					d.Fail("taken %v, judged %v", taken, verdict)
				}
				out = append(out, [...]string{"stale", "full", "late", "news"}[verdict])
			case "tell":
				p := peer.ID(d.Word(0))
				s, ok := c.next(p)
				if !ok {
					return []string{"nothing is owed"}
				}
				c.told(p, &s)
				if s.Number == 0 {
					out = append(out, "asked to say it again")
					break
				}
				out = append(out, fmt.Sprintf("told %s %d", s.Subject, s.Number))
			case "refuse":
				c.refuse(peer.ID(d.Word(0)), wire.Statement_BAN)
			case "wait":
				now += int64(d.Time(0))
			case "late":
				c.askLate()
			case "recheck":
				c.recheck(wire.Statement_BAN)
			case "asked":
				c.asked(peer.ID(d.Word(0)), wire.Statement_BAN)
			default:
				return d.Unknown()
			}
			for _, p := range c.due() {
				var owed []string
				if len(c.peers[p].ask) > 0 {
					out = append(out, string(p)+" is to be asked")
				}
				c.peers[p].owed.tidy()
				for _, e := range c.peers[p].owed.queue {
					owed = append(owed, fmt.Sprintf("%s %d", e.name.subject, c.held[e.name].Number))
				}
				if owed == nil {
					continue
				}
				out = append(out, fmt.Sprintf("%s is owed %s", string(p), strings.Join(owed, ", ")))
			}
			return out
		}
	})
}

// TestAnotherProofIsTold proves that a peer which was being told a statement while its proof
// changed is told it again: with the proof before it may have refused it.
func TestAnotherProofIsTold(t *testing.T) {
	c := newStatements()
	c.topic(wire.Statement_BAN, 2, nil)
	c.up("a")
	s := Statement{Topic: wire.Statement_BAN, Subject: "eve", Number: 1, Proof: []byte("old")}
	c.take(s, "", 0)
	first, _ := c.next("a")
	s.Proof = []byte("new")
	c.renew(s)
	c.told("a", &first)
	second, ok := c.next("a")
	require.True(t, ok)
	require.Equal(t, s, second)
	c.told("a", &second)
	require.Empty(t, c.due())
}
