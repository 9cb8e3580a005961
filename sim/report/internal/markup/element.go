// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"io"
	"slices"
	"strings"
)

// constant is a name in the page's language. Only constants of the calling
// code convert to it without being asked, as nobody else can name the type.
type constant string

// Part is what an element is made of: an attribute or a Node. Nil is nothing.
type Part interface{ into(*element) }

// Node is an element, a text, or several of them. Nil is nothing.
type Node interface {
	Part
	write(*strings.Builder)
}

// Group is several nodes, one after the other.
type Group []Node

type element struct {
	tag      string
	attrs    []attr
	children []Node
}

// El returns an element with its attributes and what is in it, in the order
// given. Styles and scripts have functions of their own.
func El(tag constant, parts ...Part) Node {
	if tag == "style" || tag == "script" {
		panic("BUG: markup: " + string(tag) + " is not made of text")
	}
	e := &element{tag: string(tag)}
	for _, p := range parts {
		if p != nil {
			p.into(e)
		}
	}
	return e
}

// Document writes a whole page.
func Document(w io.Writer, page Node) error {
	_, err := io.WriteString(w, "<!doctype html>\n"+String(page))
	return err
}

// String returns a node as it stands in a page.
func String(n Node) string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (e *element) into(parent *element) { parent.children = append(parent.children, e) }

func (g Group) into(parent *element) { parent.children = append(parent.children, g) }

func (g Group) write(b *strings.Builder) {
	for _, n := range g {
		if n != nil {
			n.write(b)
		}
	}
}

func (e *element) write(b *strings.Builder) {
	b.WriteString("<" + e.tag)
	for _, a := range e.attrs {
		a.write(b)
	}
	switch {
	case slices.Contains(void[:], e.tag):
		b.WriteString(">\n")
		return
	case len(e.children) == 0 && slices.Contains(shapes[:], e.tag):
		b.WriteString("/>")
		return
	}
	b.WriteString(">")
	if e.tag == "pre" {
		b.WriteString("\n") // a browser leaves out the first one
	}
	Group(e.children).write(b)
	b.WriteString("</" + e.tag + ">")
	if slices.Contains(blocks[:], e.tag) {
		b.WriteString("\n") // where it means nothing, for those who read the file
	}
}

var (
	void   = [...]string{"meta"}                           // elements without an end
	shapes = [...]string{"rect", "line", "circle", "path"} // of drawings, which may end at once
	blocks = [...]string{"header", "main", "section", "footer", "h1", "h2", "p", "dl", "table", "thead", "tr", "figure", "head", "body", "html"}
)
