// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// Section is a mapping within a file, that Resolve takes like a file.
type Section struct {
	File
	Label string // its key, in a mapping of sections; "" in a list
	Line  int
}

// Sections takes the keys of these names out of the file: each has, instead of values,
// sections, as a mapping from labels or as a list. It errs with Problems.
func (f *File) Sections(names ...string) (map[string][]Section, error) {
	out := map[string][]Section{}
	var problems Problems
	for _, n := range f.nested {
		if !slices.Contains(names, n.key.Value) {
			problems = append(problems, Problem{f.at(n.key.Line), unknown(n.key.Value, names)})
			continue
		}
		list, wrong := f.sections(n.value)
		out[n.key.Value] = list
		problems = append(problems, wrong...)
	}
	f.nested = nil
	return out, problems.err()
}

// sections reads the value of one key.
func (f *File) sections(n *yaml.Node) (out []Section, problems Problems) {
	add := func(label string, line int, body *yaml.Node) {
		s := Section{File: File{Name: f.Name}, Label: label, Line: line}
		problems = append(problems, s.parse(body)...)
		for _, deeper := range s.nested {
			problems = append(problems, Problem{f.at(deeper.key.Line), "a value, or a list of values, is due here"})
		}
		s.nested = nil
		out = append(out, s)
	}
	lines := map[string]bool{}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if lines[key.Value] {
				problems = append(problems, Problem{f.at(key.Line), key.Value + " is there twice"})
			}
			lines[key.Value] = true
			add(key.Value, key.Line, n.Content[i+1])
		}
	case yaml.SequenceNode:
		for _, each := range n.Content {
			add("", each.Line, each)
		}
	}
	return out, problems
}

// At is where the section begins, as Problems say it.
func (s *Section) At() string { return s.at(s.Line) }

// nest is a key whose value is no value, but sections.
type nest struct{ key, value *yaml.Node }

// isNest says whether a value is a mapping, or a list of mappings.
func isNest(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode && len(n.Content) > 0 && n.Content[0].Kind == yaml.MappingNode
}
