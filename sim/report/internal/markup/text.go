// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"fmt"
	"html"
	"strings"
)

type text string

type attr struct{ name, value string }

// Text returns text.
func Text(s string) Node { return text(s) }

// Textf returns text made as by fmt.Sprintf.
func Textf(format string, args ...any) Node { return text(fmt.Sprintf(format, args...)) }

// Attr returns an attribute. It is not for attributes whose value is code or
// an address, where to escape is not enough.
func Attr(name constant, value string) Part {
	switch {
	case strings.HasPrefix(string(name), "on"), name == "style", name == "href", name == "src", name == "action":
		panic("BUG: markup: the value of " + string(name) + " is more than text")
	}
	return attr{string(name), value}
}

// Class returns the attribute of that name, or nil if the class is "".
func Class(class string) Part {
	if class == "" {
		return nil
	}
	return attr{"class", class}
}

// Flag returns an attribute without a value.
func Flag(name constant) Part { return attr{name: string(name)} }

func (t text) into(parent *element) { parent.children = append(parent.children, t) }

func (t text) write(b *strings.Builder) { b.WriteString(escape(string(t))) }

func (a attr) into(parent *element) { parent.attrs = append(parent.attrs, a) }

func (a attr) write(b *strings.Builder) {
	b.WriteString(" " + a.name + `="` + escape(a.value) + `"`)
}

// escape writes text so that it is text in elements and in attributes.
func escape(s string) string {
	s = html.EscapeString(strings.Map(Char, s))
	return strings.ReplaceAll(s, "\r", "&#13;") // a browser makes \n of a bare one
}

// Char returns the character that a page holds for r: itself, or U+FFFD if
// pages can't hold it.
func Char(r rune) rune {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return r
	case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return '\ufffd'
	}
	return r
}
