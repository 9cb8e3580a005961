// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/security"
)

// File is a configuration file. The zero value is an empty one without a name.
type File struct {
	Name    string
	entries []entry
	nested  []nest // until Sections takes them
}

// entry is one key with its value, as it is written.
type entry struct {
	key    string
	line   int
	values []string
	list   bool
}

// Problem is what is wrong with one value.
type Problem struct {
	Where  string // "FILE:LINE", or a variable
	Reason string
}

func (p Problem) Error() string { return p.Where + ": " + p.Reason }

// Problems are all that is wrong, in the order of the file.
type Problems []Problem

// Error tells the first, and how many there are.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].Error()
	}
	return fmt.Sprintf("%v (and %d more: arke config check names them)", p[0], len(p)-1)
}

// err is nil where there is no problem.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

// Read reads the file of that name, which has at most 1 MiB and which only this user or
// root may change. What the keys mean is up to Resolve.
func Read(name string) (File, error) {
	text, err := security.ReadGuardedFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return File{}, fmt.Errorf("there is no configuration file %s", name)
	case err != nil:
		return File{}, fmt.Errorf("configuration file: %w", err)
	}
	return Parse(name, text)
}

// yamlLine is where the parser says that it stopped.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// Parse reads text as the content of the file of that name. It errs with
// Problems.
func Parse(name string, text []byte) (File, error) {
	file := File{Name: name}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return file, nil
	case err == nil && !errors.Is(dec.Decode(&more), io.EOF):
		return File{}, Problems{{file.at(more.Line), "the file ends here, a second document begins"}}
	case err != nil:
		line, _ := strconv.Atoi(yamlLine.FindStringSubmatch(err.Error())[1])
		return File{}, Problems{{file.at(max(line, 1)), yamlLine.ReplaceAllString(err.Error(), "")}}
	}
	problems := file.parse(doc.Content[0])
	return file, problems.err()
}

func (f *File) at(line int) string { return fmt.Sprintf("%s:%d", f.Name, line) }

func (f *File) parse(root *yaml.Node) (problems Problems) {
	switch {
	case isNull(root):
		return nil
	case root.Kind != yaml.MappingNode:
		return Problems{{f.at(root.Line), "not a mapping: each line is KEY: VALUE"}}
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		e := entry{key: key.Value, line: key.Line}
		first, twice := lines[e.key]
		lines[e.key] = e.line
		reason := ""
		switch {
		case key.Kind != yaml.ScalarNode:
			reason = "a key is a word"
		case twice:
			reason = fmt.Sprintf("%s stands in line %d already", e.key, first)
		case isNest(value):
			f.nested = append(f.nested, nest{key, value})
			continue
		default:
			reason = e.read(value)
		}
		if reason != "" {
			problems = append(problems, Problem{f.at(e.line), reason})
			continue
		}
		f.entries = append(f.entries, e)
	}
	return problems
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// read takes the value, or says why it can't.
func (e *entry) read(n *yaml.Node) (reason string) {
	nodes := []*yaml.Node{n}
	if e.list = n.Kind == yaml.SequenceNode; e.list {
		nodes = n.Content
	}
	for _, v := range nodes {
		switch {
		case isNull(v):
			return e.key + " has no value"
		case v.Kind == yaml.AliasNode:
			return e.key + ": write the value itself, not an alias"
		case v.Kind != yaml.ScalarNode:
			return e.key + " is a value or a list of values"
		case strings.ContainsAny(v.Value, "\n\x00"):
			return e.key + ": a value is one line"
		}
		e.values = append(e.values, v.Value)
	}
	return ""
}
