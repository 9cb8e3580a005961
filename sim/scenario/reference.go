// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	_ "embed"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/arke-mesh/arke/sim/check"
)

//go:embed format.md
var format string

// WriteReference writes the documentation of the file format as Markdown: every
// field, every action, every metric that an assertion may name.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	var attacks strings.Builder
	attacks.WriteString("| mode | on | what they do |\n|---|---|---|\n")
	for _, a := range Attacks() {
		fmt.Fprintf(&attacks, "| `%s` | %s | %s |\n", a.Mode, a.On, a.About)
	}
	b.WriteString(strings.Replace(format, "{{attacks}}\n", attacks.String(), 1))
	b.WriteString("\n## Actions\n\n| do | needs | may have | what it does |\n|---|---|---|---|\n")
	for _, a := range Actions() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", a.Name, strings.Join(a.Needs, ", "), strings.Join(a.Takes, ", "), a.About)
	}
	b.WriteString("\n## Metrics\n\n| metric | unit | per workload | meaning |\n|---|---|---|---|\n")
	for _, m := range check.Metrics() {
		perWork := ""
		if m.PerWork {
			perWork = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.Name, m.Unit, perWork, m.Meaning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Fields are the names of all fields that a file may have, in no order that
// matters.
func Fields() []string {
	var names []string
	for _, v := range []any{Scenario{}, Nodes{}, Gateway{}, Lend{}, Cluster{}, Handler{}, Limits{}, Subscription{}, Link{}, Work{}, Action{}, Ranges{}} {
		names = append(names, tags(reflect.TypeOf(v))...)
	}
	return names
}
