// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/patterns"
)

// missingJSON is a member that was not reached or did not answer.
type missingJSON struct {
	Member  string `json:"member"`
	Peer    string `json:"peer"`
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
}

func describeMissing(missing []patterns.Missing) []missingJSON {
	all := make([]missingJSON, 0, len(missing)) // [] where nobody is missing
	for _, m := range missing {
		all = append(all, missingJSON{m.Member, m.Peer, patterns.OutcomeOf(m.Err).String(), m.Err.Error()})
	}
	return all
}

// named is how many missing members are told by name.
const named = 5

// incomplete explains that not everybody did what was asked; did is "answered"
// or the like.
func incomplete(cluster, did string, count int, missing []patterns.Missing) error {
	if len(missing) == 0 {
		return &statusError{
			code: patterns.ExitStatus(patterns.OutcomeUnreachable),
			text: fmt.Sprintf("%d members of %s %s, but there may be others: not everybody who knows them could be asked; try again", count, cluster, did),
		}
	}
	var names []string
	for _, m := range missing[:min(len(missing), named)] {
		names = append(names, fmt.Sprintf("%s (%s)", m.Member, patterns.OutcomeOf(m.Err)))
	}
	if more := len(missing) - named; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return &statusError{
		code: max(patterns.ExitStatus(patterns.OutcomeOf(missing[0].Err)), 1),
		text: fmt.Sprintf("%d of %d members of %s %s; missing: %s", count, count+len(missing), cluster, did, strings.Join(names, ", ")),
	}
}
