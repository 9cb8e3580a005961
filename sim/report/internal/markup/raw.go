// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package markup

import (
	"encoding/json"
	"strings"
)

// raw is what a browser does not unescape: a style, a script, data.
type raw struct{ tag, attrs, body string }

// Style returns a style sheet for the page.
func Style(css string) Node { return raw{tag: "style", body: kept(css)} }

// Script returns a script that runs where it stands.
func Script(js string) Node { return raw{tag: "script", body: kept(js)} }

// Data returns a value as JSON that a script finds by the id. It fails if the
// value has no JSON.
func Data(id string, value any) (Node, error) {
	body, err := json.Marshal(value) // which writes < as \u003c
	if err != nil {
		return nil, err
	}
	return raw{"script", ` type="application/json" id="` + escape(id) + `"`, string(body)}, nil
}

// kept makes code that can't end its own element. The backslash changes nothing
// inside of a quoted text, and nowhere else does correct code have these.
func kept(code string) string {
	code = strings.ReplaceAll(code, "</", `<\/`)
	return strings.ReplaceAll(code, "<!--", `<\!--`)
}

func (r raw) into(parent *element) { parent.children = append(parent.children, r) }

func (r raw) write(b *strings.Builder) {
	b.WriteString("<" + r.tag + r.attrs + ">" + r.body + "</" + r.tag + ">\n")
}
