// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package markup_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/arke-mesh/arke/sim/report/internal/markup"
)

// TestElementsAreWritten proves the form of each kind of part.
func TestElementsAreWritten(t *testing.T) {
	for want, got := range map[string]markup.Node{
		`<b></b>`:                                  markup.El("b"),
		`<i class="k"></i>`:                        markup.El("i", markup.Class("k")),
		`<i id="&lt;&#34;"></i>`:                   markup.El("i", markup.Class(""), markup.Attr("id", `<"`)),
		`<details open=""></details>`:              markup.El("details", markup.Flag("open")),
		`<b>a &amp;<i>b</i>c</b>`:                  markup.El("b", markup.Text("a &"), nil, markup.Group{markup.El("i", markup.Text("b")), nil, markup.Text("c")}),
		"<meta charset=\"utf-8\">\n":               markup.El("meta", markup.Attr("charset", "utf-8")),
		`<rect x="1"/>`:                            markup.El("rect", markup.Attr("x", "1")),
		`<rect><title>t</title></rect>`:            markup.El("rect", markup.El("title", markup.Text("t"))),
		"<pre>\n\n</pre>":                          markup.El("pre", markup.Text("\n")),
		"<p>a&#13;\ufffd\ufffd</p>\n":              markup.El("p", markup.Text("a\r\x00\xff")),
		"<style>a{content:'<\\/style>'}</style>\n": markup.Style(`a{content:'</style>'}`),
		"<script>x = '<\\!--<script>'</script>\n":  markup.Script(`x = '<!--<script>'`),
	} {
		require.Equal(t, want, markup.String(got))
	}
}

// TestPlacesWhereEscapingIsNotEnoughAreRefused proves that no text gets where
// a browser would run it.
func TestPlacesWhereEscapingIsNotEnoughAreRefused(t *testing.T) {
	require.Panics(t, func() { markup.El("script", markup.Text("x")) })
	require.Panics(t, func() { markup.El("style", markup.Text("x")) })
	require.Panics(t, func() { markup.Attr("onclick", "x") })
	require.Panics(t, func() { markup.Attr("href", "x") })
	require.Panics(t, func() { markup.Attr("style", "x") })
	_, err := markup.Data("data", func() {})
	require.Error(t, err)
}

// FuzzTextStaysText proves that a browser reads whatever text goes in, where it
// went in, and no further element.
func FuzzTextStaysText(f *testing.F) {
	for _, s := range []string{"", "a", `"><script>alert(1)</script>`, "</title></p></pre>", "\n\nx", "\r\n\x00\xff\x80", "&amp;&lt", "<!--", "]]>", "'` onload=1", "</script><!--<script>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data, err := markup.Data("data", s)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, markup.Document(&b, markup.El("html",
			markup.El("head", markup.El("title", markup.Text(s)), markup.Style(s)),
			markup.El("body", markup.El("p", markup.Attr("id", s), markup.Text(s)), markup.El("pre", markup.Text(s)),
				markup.El("svg", markup.El("rect", markup.El("title", markup.Text(s))), markup.El("text", markup.Text(s))), data, markup.Script(s)))))
		doc, err := html.Parse(strings.NewReader(b.String()))
		require.NoError(t, err)
		want := strings.Map(markup.Char, s)
		var tags []string
		for n := range doc.Descendants() {
			switch {
			case n.Type == html.CommentNode:
				t.Fatalf("a comment: %q", n.Data)
			case n.Type != html.ElementNode:
				continue
			}
			tags = append(tags, n.Data)
			switch n.Data {
			case "p", "pre", "text", "title":
				require.Equal(t, want, content(n), n.Data)
			}
			if n.Data == "p" {
				require.Equal(t, []html.Attribute{{Key: "id", Val: want}}, n.Attr)
			}
		}
		require.Equal(t, []string{"html", "head", "title", "style", "body", "p", "pre", "svg", "rect", "title", "text", "script", "script"}, tags)
	})
}

func content(n *html.Node) string {
	var b strings.Builder
	for c := range n.ChildNodes() {
		b.WriteString(c.Data)
	}
	return b.String()
}
