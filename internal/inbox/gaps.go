// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import "github.com/arke-mesh/arke/patterns"

// gaps are the gaps that stand at one place, between two messages: at most one
// for each reason, in the order of their first messages.
type gaps []patterns.Gap

// add takes a gap in, and merges it with that of the same reason.
func (s gaps) add(g patterns.Gap) gaps {
	for i := range s {
		if s[i].Reason == g.Reason {
			s[i] = merged(s[i], g)
			return s
		}
	}
	return append(s, g)
}

// merged is one gap in place of two that stand side by side.
func merged(a, b patterns.Gap) patterns.Gap {
	if a.From != b.From {
		a.From = ""
	}
	a.Missed += b.Missed
	a.Exact = a.Exact && b.Exact
	return a
}
