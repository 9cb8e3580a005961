// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/relay/policy"
	"github.com/arke-mesh/arke/security"
)

// guestFlags say whose programs a relay takes, and what they may do.
type guestFlags struct {
	tokenFiles    []string
	mode, group   string
	users, groups []string
	policy        string
}

func (g *guestFlags) declare(f *pflag.FlagSet) {
	f.StringArrayVar(&g.tokenFiles, "token-file", nil, "the `[NAME=]FILE` with a token that programs prove at --client-listen, at least 16 bytes; may be repeated (default $ARKE_TOKEN)")
	f.StringVar(&g.mode, "socket-mode", "", "the socket's `MODE`, like 0660 (default 0600, or what the permitted users need)")
	f.StringVar(&g.group, "socket-group", "", "the `GROUP` of the socket, whose members may attach")
	f.StringArrayVar(&g.users, "allow-user", nil, "a `USER` whose programs may attach, or 'anyone'; may be repeated")
	f.StringArrayVar(&g.groups, "allow-group", nil, "a `GROUP` whose members' programs may attach; may be repeated")
	f.StringVar(&g.policy, "policy", "", "the `FILE` with the rights of programs: see 'arke policy'; SIGHUP reloads it")
}

// guests are whose programs a relay takes, and what they may do.
type guests struct {
	tokens []relay.Token
	share  relay.Share
	policy *policy.Policy
}

// read looks up the names, and reads the files.
func (g guestFlags) read(env string) (all guests, err error) {
	if all.tokens, err = g.tokens(env); err != nil {
		return guests{}, err
	}
	if all.share, err = g.share(); err != nil {
		return guests{}, err
	}
	if g.policy != "" {
		all.policy, err = readPolicy(g.policy)
	}
	return all, err
}

// leastToken is how many bytes a token has at least: whoever reaches the port may
// try one after the other.
const leastToken = 16

// tokens returns those of the files, or that of the environment. A token has the name
// that it is given, or its file's.
func (g guestFlags) tokens(env string) ([]relay.Token, error) {
	var all []relay.Token
	for _, spec := range g.tokenFiles {
		name, file, named := strings.Cut(spec, "=")
		if !named || strings.ContainsRune(name, filepath.Separator) {
			name, file = filepath.Base(spec), spec
		}
		secret, err := readToken(file, "")
		if err != nil {
			return nil, err
		}
		all = append(all, relay.Token{Name: name, Secret: secret})
	}
	if len(g.tokenFiles) == 0 && env != "" {
		all = []relay.Token{{Name: "token", Secret: env}}
	}
	for _, t := range all {
		if len(t.Secret) < leastToken {
			return nil, fmt.Errorf("the token has %s, at least %d are required: make one with 'head -c 24 /dev/urandom | base64'", plural.Of(len(t.Secret), "byte"), leastToken)
		}
	}
	return all, nil
}

// share says who may attach over the socket.
func (g guestFlags) share() (s relay.Share, err error) {
	if g.mode != "" {
		mode, err := strconv.ParseUint(g.mode, 8, 32)
		if err != nil {
			return s, fmt.Errorf("--socket-mode %q is no mode: write it as 0660", g.mode)
		}
		s.Mode = fs.FileMode(mode)
	}
	var names machine
	if g.group != "" {
		if s.Group, err = names.Group(g.group); err != nil {
			return s, fmt.Errorf("--socket-group: %w", err)
		}
	}
	anyone := func(name string) bool { return name == "anyone" }
	s.Anyone = slices.ContainsFunc(g.users, anyone)
	if s.Users, err = ids(slices.DeleteFunc(slices.Clone(g.users), anyone), names.User); err != nil {
		return s, fmt.Errorf("--allow-user: %w", err)
	}
	if s.Groups, err = ids(g.groups, names.Group); err != nil {
		return s, fmt.Errorf("--allow-group: %w", err)
	}
	return s, nil
}

// ids looks up each of the names.
func ids(names []string, look func(string) (int, error)) (all []int, err error) {
	for _, name := range names {
		id, err := look(name)
		if err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, nil
}

// readPolicy reads a policy from its file, which nobody else may change.
func readPolicy(path string) (*policy.Policy, error) {
	text, err := security.ReadGuardedFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no policy file %s", path)
	case err != nil:
		return nil, fmt.Errorf("policy: %w", err)
	}
	p, err := policy.Parse(string(text), machine{})
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return p, nil
}

// machine knows the users and groups of this machine, by name or number.
type machine struct{}

// User returns the id of a user.
func (machine) User(name string) (int, error) {
	if id, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(id), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no user %q", name)
	}
	return strconv.Atoi(u.Uid)
}

// Group returns the id of a group.
func (machine) Group(name string) (int, error) {
	if id, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(id), nil
	}
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, fmt.Errorf("there is no group %q", name)
	}
	return strconv.Atoi(g.Gid)
}
