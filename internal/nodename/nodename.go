// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nodename

import (
	"strings"
	"unicode"
)

// shortBytes is how much of a peer id stands for all of it. The ids of nodes begin
// alike; what follows is random, in base 58.
const shortBytes = 8

// Of writes a node as "name (shortid)", or "shortid" if it has no name. Names are
// what nodes say, so that what can't be printed is replaced.
func Of(name, id string) string {
	if name == "" || id == "" {
		return name + Short(id)
	}
	return printable(name) + " (" + Short(id) + ")"
}

// Short returns the end of a peer id.
func Short(id string) string { return id[max(0, len(id)-shortBytes):] }

func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}
