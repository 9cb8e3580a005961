// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
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
