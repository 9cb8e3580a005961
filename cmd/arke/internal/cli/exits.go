// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arke-mesh/arke/patterns"
)

// end is a way in which a command may end badly, for its help.
type end struct {
	outcome patterns.Outcome
	says    string // what it means to this command; "" = what it usually means
}

// meanings returns what outcomes usually mean to whoever runs a command.
func meanings() map[patterns.Outcome]string {
	return map[patterns.Outcome]string{
		patterns.OutcomeRemoteError:  "remote error",
		patterns.OutcomeNoMembers:    "no member",
		patterns.OutcomeOverloaded:   "overloaded",
		patterns.OutcomeUnreachable:  "unreachable",
		patterns.OutcomeDeadline:     "deadline",
		patterns.OutcomeInterrupted:  "interrupted",
		patterns.OutcomeUnauthorized: "unauthorized",
		patterns.OutcomeTooLarge:     "too large",
		patterns.OutcomeTooMany:      "too many clients", // the relay takes no more
	}
}

// usual returns ends with what they usually mean.
func usual(outcomes ...patterns.Outcome) []end {
	var all []end
	for _, o := range outcomes {
		all = append(all, end{o, ""})
	}
	return all
}

// calls returns how a call to a cluster may end badly; own replaces or adds what
// is particular to the command.
func calls(own ...end) []end {
	all := usual(patterns.OutcomeRemoteError, patterns.OutcomeNoMembers, patterns.OutcomeOverloaded, patterns.OutcomeUnreachable,
		patterns.OutcomeDeadline, patterns.OutcomeInterrupted, patterns.OutcomeUnauthorized, patterns.OutcomeTooLarge,
		patterns.OutcomeTooMany)
	for _, e := range own {
		if i := slices.IndexFunc(all, func(u end) bool { return u.outcome == e.outcome }); i >= 0 {
			all[i] = e
		} else {
			all = append(all, e)
		}
	}
	return all
}

// staying returns how a command may end badly that stays until a signal: with
// what was late then, and what there may be too many of; "" = clients of the relay only.
func staying(late, tooMany string) []end {
	return []end{
		{patterns.OutcomeUnreachable, "no relay"},
		{patterns.OutcomeDeadline, late},
		{patterns.OutcomeUnauthorized, ""},
		{patterns.OutcomeTooMany, tooMany},
	}
}

// exits writes for a command's help with which statuses it ends: their numbers
// are those of the one table of outcomes.
func exits(success string, bad ...end) string {
	text := fmt.Sprintf("Exit status: %d %s", patterns.ExitStatus(patterns.OutcomeReply), success)
	for _, e := range bad {
		text += fmt.Sprintf(", %d"+tie+"%s", patterns.ExitStatus(e.outcome), cmp.Or(e.says, meanings()[e.outcome]))
	}
	text = wrapped(text+fmt.Sprintf(", %d"+tie+"anything else.", patterns.ExitStatus(patterns.OutcomeOther)), 79)
	return strings.ReplaceAll(text, tie, " ")
}

// tie stands for a blank at which no line is broken.
const tie = "~"

// wrapped breaks a text into lines of so many columns at most.
func wrapped(text string, columns int) string {
	var b strings.Builder
	used := 0
	for _, word := range strings.Fields(text) {
		switch {
		case used == 0:
		case used+1+len(word) > columns:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += len(word)
	}
	return b.String()
}
