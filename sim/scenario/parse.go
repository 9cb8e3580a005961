// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/internal/nearest"
)

// MaxFile is the largest file that Parse reads, in bytes. Expanded scenarios
// of a thousand nodes have some hundred thousand.
const MaxFile = 16 << 20

// Parse reads a scenario, YAML or JSON, and validates it. The name of the file
// is for errors only, which are an *Error: every line says file, line and
// reason. Fields that are left out stay zero; Expand puts the defaults in.
func Parse(name string, data []byte) (Scenario, error) {
	root, problem := document(data)
	if problem != nil {
		return Scenario{}, problems{*problem}.in(name, nil).err()
	}
	var s Scenario
	d := &decoder{lines: map[string]int{"": root.Line}}
	d.value(root, "", reflect.ValueOf(&s).Elem())
	found := d.problems
	if len(found) == 0 {
		found = s.check()
	}
	if err := found.in(name, d.lines).err(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// document reads the one document that the data must be.
func document(data []byte) (*yaml.Node, *Problem) {
	if len(data) > MaxFile {
		return nil, &Problem{Reason: "is larger than 16 MiB"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return nil, &Problem{Line: 1, Reason: "is empty"}
	case err != nil:
		return nil, syntax(err, data)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, syntax(err, data)
		}
		return nil, &Problem{Line: more.Line, Reason: "a second document begins here; one file is one scenario"}
	}
	return doc.Content[0], nil
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: line (\d+): `)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntax turns an error of the YAML library into a problem.
func syntax(err error, data []byte) *Problem {
	p := &Problem{Reason: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Reason = err.Error()[len(m[0]):]
	}
	if m := unknownAnchor.FindStringSubmatch(p.Reason); m != nil {
		before, _, _ := bytes.Cut(data, []byte("*"+m[1]))
		p.Line = 1 + bytes.Count(before, []byte("\n"))
		p.Reason = `anchors and aliases are not supported; quote a "*" that selects every node`
	}
	if strings.Contains(p.Reason, "alphabetic or numeric") && bytes.ContainsRune(data, '*') {
		p.Reason += `; quote a "*" that selects every node`
	}
	return p
}

// decoder fills Go values from a YAML tree, strictly, and remembers at which
// line everything stands. It goes on after a problem.
type decoder struct {
	lines map[string]int // path → line
	problems
}

func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, Problem{Line: n.Line, Path: path, Reason: fmt.Sprintf(format, args...)})
}

// value decodes n into v.
func (d *decoder) value(n *yaml.Node, path string, v reflect.Value) {
	if _, ok := d.lines[path]; !ok {
		d.lines[path] = n.Line
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		d.fail(n, path, `anchors and aliases are not supported; quote a "*" that selects every node`)
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		switch v.Kind() {
		case reflect.Slice, reflect.Map, reflect.Pointer:
			return // JSON writes an empty one so
		}
		d.fail(n, path, "has no value; leave it out or give it one")
		return
	}
	if v.CanAddr() {
		if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
			d.text(n, path, text)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, path, v.Elem())
	case reflect.Struct:
		d.fields(n, path, v)
	case reflect.Map:
		d.entries(n, path, v)
	case reflect.Slice:
		d.list(n, path, v)
	default:
		d.scalar(n, path, v)
	}
}

func (d *decoder) text(n *yaml.Node, path string, v encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "is %s, but one value is wanted", kindOf(n))
		return
	}
	if err := v.UnmarshalText([]byte(n.Value)); err != nil {
		d.fail(n, path, "%v", err)
	}
}

// fields decodes a mapping into a struct by the struct's yaml tags.
func (d *decoder) fields(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "is %s, but fields are wanted: %s", kindOf(n), strings.Join(tags(v.Type()), ", "))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := join(path, key.Value)
		if line := seen[key.Value]; line > 0 {
			d.fail(key, at, "is given twice, first in line %d", line)
			continue
		}
		seen[key.Value] = key.Line
		f, ok := fieldOf(v, key)
		if !ok {
			d.fail(key, path, "unknown field %q%s", short(key.Value), hint(key.Value, tags(v.Type())))
			continue
		}
		d.lines[at] = key.Line
		d.value(value, at, f)
	}
}

// entries decodes a mapping of names to text.
func (d *decoder) entries(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "is %s, but names with a value each are wanted", kindOf(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := join(path, key.Value)
		if key.Kind != yaml.ScalarNode || key.Tag == "!!null" || v.MapIndex(reflect.ValueOf(key.Value)).IsValid() {
			d.fail(key, at, "is given twice, or is no name")
			continue
		}
		d.lines[at] = key.Line
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(value, at, e)
		v.SetMapIndex(reflect.ValueOf(key.Value), e)
	}
}

// list decodes a sequence; a single value stands for a list of itself where
// the elements are text or lists of text.
func (d *decoder) list(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind == yaml.ScalarNode && holdsText(v.Type()) {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}}
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "is %s, but a list is wanted", kindOf(n))
		return
	}
	if len(n.Content) == 0 {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, element := range n.Content {
		d.value(element, fmt.Sprintf("%s[%d]", path, i), list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) scalar(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "is %s, but %s is wanted", kindOf(n), wanted(v))
		return
	}
	if v.Kind() == reflect.String && n.Tag != "!!str" {
		d.fail(n, path, "is %s, but text is wanted; quote it", kindOf(n))
		return
	}
	if v.CanInt() || v.CanUint() {
		if n.Tag != "!!int" {
			d.fail(n, path, "%q is not %s", short(n.Value), wanted(v))
			return
		}
	}
	if err := n.Decode(v.Addr().Interface()); err != nil {
		d.fail(n, path, "%q is not %s", short(n.Value), wanted(v))
	}
}

// tags are the names of a struct's fields in files, in the order of the type.
func tags(t reflect.Type) []string {
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		if name := tagOf(t.Field(i)); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func tagOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func fieldOf(v reflect.Value, key *yaml.Node) (reflect.Value, bool) {
	if key.Kind != yaml.ScalarNode || key.Value == "-" {
		return reflect.Value{}, false
	}
	for i := range v.NumField() {
		if tagOf(v.Type().Field(i)) == key.Value {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func holdsText(t reflect.Type) bool {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.String
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a truth value"
	case "!!timestamp":
		return "a date"
	}
	return "text"
}

func wanted(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.CanUint():
		return "a whole number from 0 up"
	case v.CanInt():
		return "a whole number"
	case v.CanFloat():
		return "a number"
	}
	return "text"
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

// short keeps what a file contains from filling an error.
func short(s string) string {
	if len(s) > 40 {
		return s[:37] + "..."
	}
	return s
}

// maxProblems is how many problems one error tells at most.
const maxProblems = 10

// Problem is one reason why a scenario can't be run.
type Problem struct {
	File   string // "" if the scenario is not from a file
	Line   int    // 1 is the first; 0 if unknown
	Path   string // where in the scenario: "timeline[2].nodes[0]"; "" for the whole
	Reason string
}

// String returns "file:line: path: reason", without what is unknown.
func (p Problem) String() string {
	var text sentence
	text.also(p.File != "" && p.Line > 0, "%s:%d: ", p.File, p.Line)
	text.also(p.File != "" && p.Line == 0, "%s: ", p.File)
	text.also(p.Path != "", "%s: ", p.Path)
	return string(text) + p.Reason
}

// Error is what Parse, Expand and Generate return: everything that is
// wrong with a scenario, in the order of the file.
type Error struct {
	Problems []Problem
}

// Error returns one line for each problem, ten at most.
func (e *Error) Error() string {
	lines := make([]string, 0, maxProblems+1)
	for i, p := range e.Problems {
		if i == maxProblems {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-maxProblems))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong.
type problems []Problem

func (p *problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{Path: path, Reason: fmt.Sprintf(format, args...)})
}

// span checks a length of time that may be zero.
func (p *problems) span(path string, d Duration) {
	switch {
	case d < 0:
		p.add(path, "%v is negative", d)
	case d > MaxDuration:
		p.add(path, "%v is longer than %v", d, MaxDuration)
	}
}

// number checks a number that may be left out, which is zero.
func (p *problems) number(path string, v, least, most int) {
	if v != 0 && (v < least || v > most) {
		p.add(path, "%d is not between %d and %d", v, least, most)
	}
}

// natural checks a number that must not be negative.
func (p *problems) natural(path string, v int) {
	if v < 0 {
		p.add(path, "%d is negative", v)
	}
}

// name checks the name of a scenario, a group or a network.
func (p *problems) name(path, name string) bool {
	ok := nameForm.MatchString(name)
	if !ok {
		p.add(path, "%q is not a name; use lower-case letters, digits and -, 40 at most", short(name))
	}
	return ok
}

// label checks a word that may have points; what is "name" or "label".
func (p *problems) label(path, what, name string) bool {
	ok := labelForm.MatchString(name)
	if !ok {
		p.add(path, "%q is not a %s; use lower-case letters, digits, '.', '_' and -", short(name), what)
	}
	return ok
}

// labelOrNone is label for what may be left out.
func (p *problems) labelOrNone(path, what, name string) {
	if name != "" {
		p.label(path, what, name)
	}
}

// word checks that a word is known; what is the kind of word.
func (p *problems) word(path, what, word string, known []string) bool {
	why := unknown(what, word, known)
	if why != "" {
		p.add(path, "%s", why)
	}
	return why == ""
}

// unknown says that a word is not known, or "".
func unknown(what, word string, known []string) string {
	if slices.Contains(known, word) {
		return ""
	}
	return fmt.Sprintf("unknown %s %q%s", what, short(word), hint(word, known))
}

// err returns nil if there is no problem.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Problems: p}
}

// in places the problems into a file. The line of a path that the file does
// not have is that of the nearest thing around it.
func (p problems) in(file string, lines map[string]int) problems {
	for i := range p {
		p[i].File = file
		if p[i].Line == 0 {
			p[i].Line = lineOf(p[i].Path, lines)
		}
	}
	slices.SortStableFunc(p, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return p
}

func lineOf(path string, lines map[string]int) int {
	for {
		if line, ok := lines[path]; ok {
			return line
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut < 0 {
			return lines[""]
		}
		path = path[:cut]
	}
}

// hint returns what follows an unknown name: the known names that look like
// it, or all of them if they are few, or nothing.
func hint(name string, known []string) string {
	if found := nearest.Names(name, min(2, (len(name)+1)/2), known); len(found) > 0 {
		return "; did you mean " + strings.Join(found, " or ") + "?"
	}
	if len(known) == 0 || len(known) > 24 {
		return ""
	}
	return "; there is " + strings.Join(known, ", ")
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
