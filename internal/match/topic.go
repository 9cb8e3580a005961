// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package match

import (
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/patterns"
)

// The words of a pattern that stand for others.
const (
	anyWord = "*" // one word
	anyRest = ">" // one word or more; only at the end
)

// MaxBytes bounds topics and patterns.
const MaxBytes = 255

// maxWords is how many words fit into MaxBytes.
const maxWords = (MaxBytes + 1) / 2

// CheckTopic returns an error that wraps patterns.ErrTopic and says what is
// wrong with t, or nil if it is a topic.
func CheckTopic(t string) error { return check(t, false) }

// CheckPattern returns an error that wraps patterns.ErrTopic and says what is
// wrong with p, or nil if it is a pattern. Every topic is a pattern.
func CheckPattern(p string) error { return check(p, true) }

func check(s string, wildcards bool) error {
	if plain(s) {
		return nil
	}
	if len(s) > MaxBytes {
		return fmt.Errorf("%w: %.32q...: %d bytes are more than %d", patterns.ErrTopic, s, len(s), MaxBytes)
	}
	switch fault := name.Fault(s); {
	case fault != "":
		return fmt.Errorf("%w: %.64q: %s", patterns.ErrTopic, s, fault)
	case strings.HasPrefix(s, name.Reserved):
		return fmt.Errorf("%w: %q: names that begin with %s are reserved", patterns.ErrTopic, s, name.Reserved)
	}
	first, _, _ := strings.Cut(s, ".")
	if _, keys := name.CutRef(first); keys != "" { // it names the group, whose keys are no topic's business
		return fmt.Errorf("%w: %.64q: %s", patterns.ErrTopic, s, name.Fault(first))
	}
	for rest, more := s, true; more; {
		var word string
		word, rest, more = strings.Cut(rest, ".")
		switch {
		case word == "":
			return fmt.Errorf("%w: %q: a word is empty", patterns.ErrTopic, s)
		case wildcards && word == anyRest && more:
			return fmt.Errorf("%w: %q: > stands before the end", patterns.ErrTopic, s)
		case !wildcards && (word == anyWord || word == anyRest):
			return fmt.Errorf("%w: %q: %s is for patterns only", patterns.ErrTopic, s, word)
		case len(word) > 1 && strings.ContainsAny(word, anyWord+anyRest):
			return fmt.Errorf("%w: %q: * and > stand for whole words only: %s", patterns.ErrTopic, s, meant(wildcards))
		}
	}
	return nil
}

// plain says whether s is a topic of which a look at each byte shows that: most are,
// and they are checked for each message.
func plain(s string) bool {
	if len(s) > MaxBytes {
		return false
	}
	last := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', 'A' <= c && c <= 'Z', c == '-', c == '_', c == '/':
		case c == '.' && last != '.':
		default:
			return false
		}
		last = c
	}
	return last != '.'
}

// meant says what to write instead of a word with a wildcard in it.
func meant(wildcards bool) string {
	if wildcards {
		return "write a.* for every word there, or a.> for all words from there on"
	}
	return "a topic has none of them"
}

// Group returns the group of a topic or pattern: its first word. A pattern that
// begins with a wildcard is of the root group, whose word is "*".
func Group(topicOrPattern string) (word string, root bool) {
	word, _, _ = strings.Cut(topicOrPattern, ".")
	if word == anyWord || word == anyRest {
		return anyWord, true
	}
	return word, false
}

// Matches says whether the pattern stands for the topic. Both must have passed
// their checks.
func Matches(pattern, topic string) bool {
	for {
		if pattern == anyRest {
			return topic != ""
		}
		p, restP, moreP := strings.Cut(pattern, ".")
		t, restT, moreT := strings.Cut(topic, ".")
		if p != anyWord && p != t {
			return false
		}
		if !moreP || !moreT {
			return moreP == moreT
		}
		pattern, topic = restP, restT
	}
}

// Covers says whether the first pattern stands for every topic that the second one
// stands for. A topic is a pattern, too: of one, this is Matches.
func Covers(wide, narrow string) bool {
	for {
		if wide == anyRest {
			return narrow != ""
		}
		w, restW, moreW := strings.Cut(wide, ".")
		n, restN, moreN := strings.Cut(narrow, ".")
		if n == anyRest && !moreN || w != anyWord && w != n {
			return false
		}
		if !moreW || !moreN {
			return moreW == moreN
		}
		wide, narrow = restW, restN
	}
}

// Stands says whether the name of a rule, a pattern, stands for all of what: a topic, a
// cluster, or a pattern of them. Names that Arke keeps for itself stand for themselves,
// and no pattern stands for them.
func Stands(rule, what string) bool {
	if strings.HasPrefix(rule, name.Reserved) || strings.HasPrefix(what, name.Reserved) {
		return rule == what
	}
	return Covers(rule, what)
}

// Meet says whether there is a topic that both patterns stand for.
func Meet(a, b string) bool {
	for {
		wordA, restA, moreA := strings.Cut(a, ".")
		wordB, restB, moreB := strings.Cut(b, ".")
		switch {
		case wordA == anyRest || wordB == anyRest:
			return true
		case wordA != anyWord && wordB != anyWord && wordA != wordB:
			return false
		case !moreA || !moreB:
			return moreA == moreB
		}
		a, b = restA, restB
	}
}
