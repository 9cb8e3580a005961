// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/internal/verb"
)

// maxText bounds the text of a policy, in bytes.
const maxText = 1 << 20

// Directory knows the users and groups of the machine by name.
type Directory interface {
	User(name string) (id int, err error)
	Group(name string) (id int, err error)
}

// Parse reads the text of a policy. A directory that is nil knows nobody. Its error has a line for each line of the text
// that makes no sense, with its number.
func Parse(text string, d Directory) (*Policy, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("policy: more than %d bytes", maxText)
	}
	var rules []Rule
	var faults []error
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		r, some, err := parseLine(line, d)
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("line %d: %w", number, err))
		case some:
			r.Line = number
			rules = append(rules, r)
		}
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	return New(rules...)
}

// parseLine reads one rule; some is false if there is none.
func parseLine(line string, d Directory) (r Rule, some bool, err error) {
	words, err := split(line)
	if err != nil || len(words) == 0 {
		return Rule{}, false, err
	}
	if r.Subject, words, err = parseSubject(words, d); err != nil {
		return Rule{}, false, err
	}
	if len(words) == 0 || words[0] != "may" {
		return Rule{}, false, fmt.Errorf("%q is missing behind %s: WHO may VERB, VERB NAME NAME", "may", r.Subject)
	}
	words = words[1:]
	for more := true; more && len(words) > 0; words = words[1:] {
		more = strings.HasSuffix(words[0], ",")
		for word := range strings.SplitSeq(strings.TrimSuffix(words[0], ","), ",") {
			v, err := verb.Parse(word)
			if err != nil {
				return Rule{}, false, err
			}
			r.Verbs = append(r.Verbs, v)
		}
	}
	r.Names = words
	return r, true, r.check()
}

// parseSubject reads whom a rule is for, and returns the rest.
func parseSubject(words []string, d Directory) (s Subject, rest []string, err error) {
	if words[0] == kinds[Anyone] {
		return Subject{Kind: Anyone}, words[1:], nil
	}
	kind := slices.Index(kinds[:], words[0])
	switch {
	case kind < 0:
		return s, nil, fmt.Errorf("%q: a rule begins with user, group, token or anyone", words[0])
	case len(words) < 2:
		return s, nil, fmt.Errorf("which %s?", words[0])
	}
	s.Kind, s.Name = Kind(kind), words[1]
	if s.Kind == Token {
		return s, words[2:], nil
	}
	if id, err := strconv.ParseUint(s.Name, 10, 31); err == nil {
		return Subject{Kind: s.Kind, ID: int(id)}, words[2:], nil
	}
	switch {
	case d == nil:
		err = errors.ErrUnsupported
	case s.Kind == User:
		s.ID, err = d.User(s.Name)
	default:
		s.ID, err = d.Group(s.Name)
	}
	if err != nil {
		return s, nil, fmt.Errorf("there is no %s on this machine", s)
	}
	return s, words[2:], nil
}

// split cuts a line into words, without a comment. A word in double quotes may have
// blanks.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\r")
		switch {
		case line == "", line[0] == '#':
			return words, nil
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, errors.New("a quotation does not end")
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("%s is no quotation", quoted)
			}
			words, line = append(words, word), line[len(quoted):]
			if line != "" && !strings.ContainsAny(line[:1], " \t\r") {
				return nil, fmt.Errorf("a blank is missing behind %s", quoted)
			}
		default:
			end := strings.IndexAny(line, " \t\r")
			if end < 0 {
				end = len(line)
			}
			words, line = append(words, line[:end]), line[end:]
		}
	}
}
