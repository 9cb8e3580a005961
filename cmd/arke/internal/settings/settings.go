// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/internal/nearest"
)

// Source is where a value may come from; a later one stands above an earlier.
type Source uint8

// The sources.
const (
	FromDefault Source = iota
	FromFile
	FromEnvironment
	FromFlag
)

// String returns the name.
func (s Source) String() string {
	return [...]string{"default", "file", "environment", "flag"}[s]
}

// Origin is where a value came from.
type Origin struct {
	Source Source
	Where  string // "default", "FILE:LINE", the variable, or the flag
}

// Settings are the flags of a command, with where their values came from.
type Settings struct {
	flags   *pflag.FlagSet
	origins map[string]Origin
}

// Annotations of flags.
const (
	reloads = "arke_reloads"
	outside = "arke_outside"
)

func annotate(f *pflag.FlagSet, as string, names []string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, as, []string{"yes"}); err != nil {
			panic("BUG: " + err.Error())
		}
	}
}

func is(f *pflag.Flag, as string) bool { return f.Annotations[as] != nil }

// Reloads marks flags whose values can change while the command runs.
func Reloads(f *pflag.FlagSet, names ...string) { annotate(f, reloads, names) }

// FlagOnly marks flags that are neither keys of the file nor variables: they say
// what is printed, and where the file is.
func FlagOnly(f *pflag.FlagSet, names ...string) { annotate(f, outside, names) }

// Variable is the environment variable of a flag.
func Variable(name string) string {
	return "ARKE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// lookup returns the value of a variable; an empty one is none. As for the
// system, the last one of a name counts.
func lookup(environ []string, name string) (value string, ok bool) {
	for _, kv := range environ {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			value = v
		}
	}
	return value, value != ""
}

// settable are the flags that have other sources, by name.
func settable(f *pflag.FlagSet) (all []*pflag.Flag) {
	f.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !is(f, outside) {
			all = append(all, f)
		}
	})
	return all
}

// Keys are the names of all flags that have other sources.
func Keys(f *pflag.FlagSet) (names []string) {
	for _, f := range settable(f) {
		names = append(names, f.Name)
	}
	return names
}

// Resolve sets the flags that were not given: to what environ ("NAME=VALUE")
// says, else to what the file says. It errs with Problems, also for keys that are
// no flags.
func Resolve(flags *pflag.FlagSet, environ []string, file File) (*Settings, error) {
	s := &Settings{flags: flags, origins: map[string]Origin{}}
	var problems Problems
	for _, f := range settable(flags) {
		s.origins[f.Name] = Origin{FromDefault, "default"}
		if f.Changed {
			s.origins[f.Name] = Origin{FromFlag, "--" + f.Name}
		}
		problems = append(problems, s.setFrom(environ, f)...)
	}
	for _, e := range file.entries {
		o := Origin{FromFile, file.at(e.line)}
		f := flags.Lookup(e.key)
		if f == nil || !slices.Contains(Keys(flags), e.key) {
			problems = append(problems, Problem{o.Where, unknown(e.key, Keys(flags))})
			continue
		}
		if _, list := f.Value.(pflag.SliceValue); e.list && !list {
			problems = append(problems, Problem{o.Where, e.key + " has one value, not a list"})
			continue
		}
		if f.Changed {
			continue
		}
		problems = append(problems, s.set(f, o, e.values)...)
	}
	for _, n := range file.nested {
		problems = append(problems, Problem{file.at(n.key.Line), n.key.Value + " is a value or a list of values"})
	}
	return s, problems.err()
}

// FromVariables sets those of the named flags that were not given to what environ
// says, for commands without a file.
func FromVariables(flags *pflag.FlagSet, environ []string, names ...string) error {
	s := &Settings{flags: flags, origins: map[string]Origin{}}
	for _, name := range names {
		f := flags.Lookup(name)
		if f == nil {
			continue
		}
		if problems := s.setFrom(environ, f); len(problems) > 0 {
			return problems[0]
		}
	}
	return nil
}

// setFrom sets a flag that was not given to what its variable says.
func (s *Settings) setFrom(environ []string, f *pflag.Flag) Problems {
	value, ok := lookup(environ, Variable(f.Name))
	if !ok || f.Changed {
		return nil
	}
	return s.set(f, Origin{FromEnvironment, Variable(f.Name)}, split(f, value))
}

// unknown says that there is no such key, and which one may be meant.
func unknown(key string, keys []string) string {
	return fmt.Sprintf("unknown key %q", key) + nearest.Hint(strings.ReplaceAll(strings.ToLower(key), "_", "-"), keys, "%q")
}

// split makes the values of a variable's: commas separate those of a list.
func split(f *pflag.Flag, value string) []string {
	if _, list := f.Value.(pflag.SliceValue); !list {
		return []string{value}
	}
	var values []string
	for v := range strings.SplitSeq(value, ",") {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// set gives the flag its values.
func (s *Settings) set(f *pflag.Flag, o Origin, values []string) Problems {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		if slices.Contains(values, "") {
			return Problems{{o.Where, f.Name + " has an empty value"}}
		}
		if err := list.Replace(values); err != nil {
			return Problems{{o.Where, err.Error()}}
		}
		f.Changed = true
	} else if err := s.flags.Set(f.Name, values[0]); err != nil {
		_ = f.Value.Set(f.DefValue) // a number that is none has become 0
		return Problems{{o.Where, reasonOf(f, values[0], err)}}
	}
	s.origins[f.Name] = o
	return nil
}

// reasonOf says why the flag does not take the value, in the words of a file.
func reasonOf(f *pflag.Flag, value string, err error) string {
	kind := map[string]string{
		"bool": "true or false", "int": "a whole number", "duration": "a time like 30s or 1m30s", "uint32": "a whole number",
	}[f.Value.Type()]
	if kind != "" {
		return fmt.Sprintf("%s: %q is not %s", f.Name, value, kind)
	}
	return fmt.Sprintf("%s: %v", f.Name, err)
}

// Origin returns where the value of a flag came from.
func (s *Settings) Origin(name string) Origin { return s.origins[name] }

// Value is one setting, as it is shown.
type Value struct {
	Key     string
	Values  []string // one, unless List
	List    bool
	Reloads bool // can change while the command runs
	Origin  Origin
}

// All returns every setting, by key.
func (s *Settings) All() []Value {
	var all []Value
	for _, f := range settable(s.flags) {
		v := Value{Key: f.Name, Values: values(f), Origin: s.origins[f.Name], Reloads: is(f, reloads)}
		_, v.List = f.Value.(pflag.SliceValue)
		all = append(all, v)
	}
	return all
}

func values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// Changes are the keys whose values differ between two resolutions of the same
// flags: those that can change while the command runs, and the others.
func Changes(old, now *Settings) (reloaded, fixed []string) {
	for _, f := range settable(now.flags) {
		before := old.flags.Lookup(f.Name)
		switch {
		case slices.Equal(values(before), values(f)):
		case is(f, reloads):
			reloaded = append(reloaded, f.Name)
		default:
			fixed = append(fixed, f.Name)
		}
	}
	return reloaded, fixed
}

// Stray returns the variables of environ that look as if they were meant for
// flags and are none, with what may be meant; known are variables of another
// meaning.
func Stray(flags *pflag.FlagSet, environ []string, known ...string) (strays []string) {
	var names []string
	for _, key := range Keys(flags) {
		names = append(names, Variable(key))
	}
	names = append(names, known...)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "ARKE_") || slices.Contains(names, name) {
			continue
		}
		strays = append(strays, name+" is no setting"+nearest.Hint(name, names, "%s"))
	}
	return strays
}

// Repeat gives the flags of f, declared anew, what the command line gave.
func (s *Settings) Repeat(f *pflag.FlagSet) error {
	for _, given := range settable(s.flags) {
		if s.origins[given.Name].Source != FromFlag {
			continue
		}
		to := f.Lookup(given.Name)
		if err := assign(to, values(given)); err != nil {
			return err
		}
		to.Changed = true
	}
	return nil
}

// Adopt takes those values of now that can change while the command runs.
func (s *Settings) Adopt(now *Settings) {
	for _, f := range settable(now.flags) {
		if !is(f, reloads) {
			continue
		}
		if err := assign(s.flags.Lookup(f.Name), values(f)); err != nil {
			panic("BUG: a flag refuses the value that it had: " + err.Error())
		}
		s.origins[f.Name] = now.origins[f.Name]
	}
}

// assign replaces the values of a flag.
func assign(f *pflag.Flag, values []string) error {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	return f.Value.Set(values[0])
}
