// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// maxTexts is how many texts are remembered. They have at most 255 bytes each.
const maxTexts = 256

// Texts remembers texts that come again and again, the names of topics above all,
// so that each is allocated once. The zero value is ready. Not for concurrent use.
type Texts struct{ of map[string]string }

// text returns b as a string.
func (t *Texts) text(b []byte) string {
	if s, ok := t.of[string(b)]; ok {
		return s
	}
	if t.of == nil || len(t.of) >= maxTexts {
		t.of = make(map[string]string)
	}
	s := string(b)
	t.of[s] = s
	return s
}

// read is reader.short with the help of t, which may be nil.
func (t *Texts) read(r *reader) string {
	b := r.bytes(int(r.uint8()))
	if t == nil {
		return string(b)
	}
	return t.text(b)
}
