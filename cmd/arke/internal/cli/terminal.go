// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// escaped returns text without what would command a terminal, because it may
// come from another program: control characters, the characters that reverse the
// direction of writing, and what is not UTF-8 are written as in Go's strings.
// Those in keep stay.
func escaped(text, keep string) string {
	harmless := func(r rune, size int) bool {
		return strings.ContainsRune(keep, r) || (r != utf8.RuneError || size > 1) && !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case harmless(r, size):
			b.WriteString(text[i : i+size])
		case r < utf8.RuneSelf || size == 1:
			b.WriteString(controlName(text[i]))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += size
	}
	return b.String()
}

// controlName writes a byte that is no text.
func controlName(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\x%02x`, c)
}

// printable returns text of several lines that commands no terminal.
func printable(text string) string { return escaped(text, "\n\t") }

// oneLine returns a name, or other text that is one line.
func oneLine(text string) string { return escaped(text, "") }

// guard is a stream for people: nothing that is written to it commands a
// terminal. Write may be called concurrently.
type guard struct {
	w  io.Writer
	mu *sync.Mutex
}

func (g guard) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := io.WriteString(g.w, printable(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// isTerminal reports whether a person looks at w.
func isTerminal(w io.Writer) bool {
	if g, ok := w.(guard); ok {
		w = g.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	stat, err := f.Stat()
	return err == nil && stat.Mode()&os.ModeCharDevice != 0
}

// table writes rows of cells, any of which may come from elsewhere.
type table struct{ t *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// row writes one row.
func (t table) row(cells ...any) {
	for i, c := range cells {
		text := fmt.Sprint(c)
		if i > 0 {
			fmt.Fprint(t.t, "\t")
		}
		fmt.Fprint(t.t, oneLine(text))
	}
	fmt.Fprintln(t.t)
}

// gap begins a new table.
func (t table) gap() { fmt.Fprintln(t.t) }

func (t table) flush() error { return t.t.Flush() }
