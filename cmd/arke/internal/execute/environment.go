// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// passed are the variables that every command gets: none is a secret, and a
// command that calls arke itself finds the relay.
var passed = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TMPDIR", "TERM", "TZ",
	"LANG", "LANGUAGE", "XDG_RUNTIME_DIR", "ARKE_SOCKET",
}

// secrets are the variables that no command gets.
var secrets = [...]string{"ARKE_NETWORK", "ARKE_TOKEN"}

// Environment returns what of environ, "NAME=VALUE" each, a command may see: a few
// variables that no program can do without, and what extra names, each "NAME" or
// "NAME=VALUE". An error says that extra names nothing, or a secret.
func Environment(environ, extra []string) ([]string, error) {
	env := []string{}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(passed[:], name) || strings.HasPrefix(name, "LC_") {
			env = append(env, kv)
		}
	}
	for _, e := range extra {
		name, _, given := strings.Cut(e, "=")
		switch {
		case name == "":
			return nil, fmt.Errorf("--env %q is not NAME or NAME=VALUE", e)
		case slices.Contains(secrets[:], name):
			return nil, fmt.Errorf("--env %s: a command never gets this secret", name)
		case given:
			env = append(env, e)
			continue
		}
		at := slices.IndexFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if at < 0 {
			return nil, fmt.Errorf("--env %s: the variable is not set", name)
		}
		env = append(env, environ[at])
	}
	return env, nil
}

// occasion is what a command is run for.
type occasion struct {
	pattern  patterns.Pattern
	member   string
	caller   string
	deadline time.Time // zero = none
	headers  patterns.Headers
}

// variables describes the occasion in variables:
//
//	ARKE_PATTERN      request, survey, push, broadcast or tunnel
//	ARKE_MEMBER       the id of this member
//	ARKE_CALLER       the peer id of the caller's node
//	ARKE_DEADLINE_MS  milliseconds that are left; not set if there is no deadline
//	ARKE_HEADER_NAME  the header "name": letters in upper case, _ for everything
//	                  that is no letter or digit. The first of several counts
//
// A value with a zero byte can't be a variable, and is left out.
func (o occasion) variables(now time.Time) []string {
	vars := []string{"ARKE_PATTERN=" + o.pattern.String(), "ARKE_MEMBER=" + o.member, "ARKE_CALLER=" + o.caller}
	if !o.deadline.IsZero() {
		vars = append(vars, "ARKE_DEADLINE_MS="+strconv.FormatInt(max(0, o.deadline.Sub(now).Milliseconds()), 10))
	}
	seen := map[string]bool{}
	for _, h := range o.headers {
		name := "ARKE_HEADER_" + strings.Map(variableRune, h.Key)
		if !seen[name] && !strings.ContainsRune(h.Value, 0) {
			seen[name] = true
			vars = append(vars, name+"="+h.Value)
		}
	}
	return vars
}

func variableRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r - 'a' + 'A'
	case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return r
	}
	return '_'
}
