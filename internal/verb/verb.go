// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"fmt"
	"slices"
	"strings"
)

// Verb is what may be done with a name.
type Verb uint8

// The verbs.
const (
	Serve Verb = iota
	Call
	Publish
	Subscribe
	// Count is how many there are.
	Count
)

var words = [Count]string{"serve", "call", "publish", "subscribe"}

// String returns the verb as it is written in rules.
func (v Verb) String() string {
	if v >= Count {
		return "unknown"
	}
	return words[v]
}

// Parse returns the verb of that name.
func Parse(s string) (Verb, error) {
	if i := slices.Index(words[:], s); i >= 0 {
		return Verb(i), nil
	}
	return 0, fmt.Errorf("%q is no verb: they are %s", s, strings.Join(words[:], ", "))
}
