// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package patterns

// Gaps are the gaps that stand at one place, between two messages: at most one
// for each reason, in the order of their first messages.
type Gaps []Gap

// Add takes a gap in, and merges it with that of the same reason.
func (s Gaps) Add(g Gap) Gaps {
	for i := range s {
		if s[i].Reason == g.Reason {
			s[i] = merged(s[i], g)
			return s
		}
	}
	return append(s, g)
}

// merged is one gap in place of two that stand side by side.
func merged(a, b Gap) Gap {
	if a.From != b.From {
		a.From = ""
	}
	a.Missed += b.Missed
	a.Exact = a.Exact && b.Exact
	return a
}
