// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package issued_test

import (
	"errors"
	"testing"
	"time"

	"github.com/arke-mesh/arke/internal/issued"
	story "github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/security"
)

// TestRenewalScripts plays the stories in testdata/renewal against the core that decides
// when a node asks for more time. Randomness is at its middle: half of what it may be.
// After each step it prints when the node asks next, from now.
//
//	hold from=TIME to=TIME until=TIME   the certificate that the node has; no until = issuers may not renew it
//	none                                it has none
//	at TIME                             so much later
//	due                                 goes to when it asks
//	renewed LIFE                        it has asked, and got one of that life
//	fails, later                        it has asked, and there was no issuer; or it is too early
func TestRenewalScripts(t *testing.T) {
	story.Run(t, "testdata/renewal", func() func(story.Step) []string {
		r := issued.NewRenewal(func(n int64) int64 { return n / 2 })
		now := noon
		var c security.Certificate
		return func(d story.Step) (out []string) {
			switch d.Cmd {
			case "hold":
				c = security.Certificate{NotBefore: noon.Add(d.TimeOf("from", 0)), NotAfter: noon.Add(d.TimeOf("to", 0))}
				if until := d.TimeOf("until", 0); until != 0 {
					c.RenewUntil = noon.Add(until)
				}
				r.Hold(now, c, true)
			case "none":
				r.Hold(now, security.Certificate{}, false)
			case "at":
				now = noon.Add(d.Time(0))
			case "due":
				now = r.Due()
			case "renewed":
				c.NotBefore, c.NotAfter = now, now.Add(d.Time(0))
				if c.NotAfter.After(c.RenewUntil) {
					c.NotAfter = c.RenewUntil
				}
				r.Renewed(now, c)
			case "fails":
				r.Failed(now, errors.New("no issuer"))
			case "later":
				r.Failed(now, security.ErrNotYet)
			default:
				return d.Unknown()
			}
			s := r.Status()
			if s.RenewalFault != "" {
				out = append(out, "fault: "+s.RenewalFault)
			}
			if s.NextRenewal.IsZero() {
				return append(out, "never asks")
			}
			out = append(out, "asks in "+s.NextRenewal.Sub(now).Round(time.Millisecond).String()+", "+c.NotAfter.Sub(s.NextRenewal).Round(time.Millisecond).String()+" before the end")
			return out
		}
	})
}
