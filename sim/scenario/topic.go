// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"strings"
)

// maxTopic is how long a topic or a pattern may be, in bytes.
const maxTopic = 255

// badTopic says why a text is no topic, or "".
func badTopic(text string) string {
	switch words := strings.Split(text, "."); {
	case len(text) > maxTopic:
		return "it is too long"
	case slices.Contains(words, ""):
		return "a word is empty"
	case slices.Contains(words, "*") || slices.Contains(words, ">"):
		return "only patterns have wildcards"
	}
	return ""
}

// badPattern says why a text is no pattern, or "".
func badPattern(text string) string {
	switch words := strings.Split(text, "."); {
	case len(text) > maxTopic:
		return "it is too long"
	case slices.Contains(words, ""):
		return "a word is empty"
	case slices.Contains(words[:len(words)-1], ">"):
		return `">" stands at the end only`
	}
	return ""
}
