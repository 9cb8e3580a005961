// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// line is one statement of a key file: a word and its values.
type line struct {
	number int // from 1
	words  []string
}

// splitLines cuts a key file into its statements: one a line, or several
// separated by semicolons, so that a file fits an environment variable that
// can't hold line breaks. Empty lines and those that begin with # are skipped.
func splitLines(data []byte) []line {
	var out []line
	for i, text := range strings.Split(string(data), "\n") {
		if strings.HasPrefix(strings.TrimSpace(text), "#") {
			continue
		}
		for statement := range strings.SplitSeq(text, ";") {
			if words := strings.Fields(statement); len(words) > 0 {
				out = append(out, line{i + 1, words})
			}
		}
	}
	return out
}

// errorf says what is wrong in this line, and what to do. It must not be given
// values: they may be keys.
func (l line) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: "+format, append([]any{ErrBadFile, l.number}, args...)...)
}

// want checks the number of values.
func (l line) want(names ...string) error {
	if len(l.words) == 1+len(names) {
		return nil
	}
	return l.errorf("%q has %d values instead of %d: write `%s %s`",
		l.words[0], len(l.words)-1, len(names), l.words[0], strings.ToUpper(strings.Join(names, " ")))
}

// hexValue decodes the only value into dst, whose length must match.
func (l line) hexValue(dst []byte) error {
	if err := l.want("hex"); err != nil {
		return err
	}
	return l.hexInto(dst, 1)
}

// hexInto decodes the i-th word into dst, whose length must match.
func (l line) hexInto(dst []byte, i int) error {
	b, err := hex.DecodeString(l.words[i])
	if err != nil || len(b) != len(dst) {
		return l.errorf("%q needs exactly %d hexadecimal digits: copy the line again from the original file",
			l.words[0], 2*len(dst))
	}
	copy(dst, b)
	clear(b)
	return nil
}

// unknown is the error for a word that the format does not have. The word is
// repeated only if it can't be a key.
func (l line) unknown(known string) error {
	word := "a word"
	if w := l.words[0]; len(w) <= 16 && strings.ContainsAny(w, "ghijklmnopqrstuvwxyz") {
		word = strconv.Quote(w) // no part of a hexadecimal key
	}
	return l.errorf("%s is none of %s: remove the line, or use a newer release", word, known)
}

// statements says what a kind of file may consist of, beside its header.
type statements struct {
	format, version string          // of the header
	required        []string        // words that must occur
	repeated        map[string]bool // words that may occur more than once
	known           string          // all words, for people
	parse           map[string]func(line) error
}

// read checks the header, then hands each statement to its parser.
func (s *statements) read(data []byte) error {
	lines, err := expectHeader(splitLines(data), s.format, s.version)
	if err != nil {
		return err
	}
	seen := make(map[string]int)
	for _, l := range lines {
		word := l.words[0]
		parse := s.parse[word]
		if parse == nil {
			return l.unknown(s.known)
		}
		if at := seen[word]; at != 0 && !s.repeated[word] {
			return l.errorf("%q is already in line %d: remove one of them", word, at)
		}
		seen[word] = l.number
		if err := parse(l); err != nil {
			return err
		}
	}
	for _, word := range s.required {
		if seen[word] == 0 {
			return fmt.Errorf("%w: it has no %q line: copy the original file again", ErrBadFile, word)
		}
	}
	return nil
}

// expectHeader checks the first statement, which names format and version.
func expectHeader(lines []line, format, version string) ([]line, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("%w: it is empty: copy the original again, or make a new one", ErrBadFile)
	}
	head := lines[0]
	if head.words[0] != format {
		return nil, head.errorf("does not begin with %q: this is another kind of file", format+" "+version)
	}
	if err := head.want(version); err != nil {
		return nil, err
	}
	if head.words[1] != version {
		return nil, head.errorf("this release reads version %s of the format: use the release that wrote the file, or make a new one", version)
	}
	return lines[1:], nil
}
