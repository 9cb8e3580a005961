// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
