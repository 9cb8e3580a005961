// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/relay/internal/peercred"
	"github.com/arke-mesh/arke/relay/internal/unixsock"
)

// truster decides whose relays a program of a user attaches to: a relay reads all
// that its clients say.
type truster struct {
	self  int
	users []int
	named bool // the user has said which socket it is
}

// refuses says whether what a user owns is refused.
func (t truster) refuses(uid int) bool {
	return uid != 0 && uid != t.self && !slices.Contains(t.users, uid) && (t.self != 0 || !t.named)
}

// place is a file or directory on the way to the relay.
type place struct {
	path string
	uid  int // who owns it; -1 = nobody can tell
	mode fs.FileMode
}

// fault says why a place that the program has found can't be trusted; "" = it can.
func (t truster) fault(p place) string {
	switch {
	case p.uid >= 0 && t.refuses(p.uid):
		return fmt.Sprintf("%s belongs to user %d", p.path, p.uid)
	case p.mode.IsDir() && p.mode.Perm()&0o022 != 0 && p.mode&fs.ModeSticky == 0:
		return fmt.Sprintf("others may write to %s", p.path)
	}
	return ""
}

// trust refuses a relay of somebody who could listen to us.
func (c Config) trust(conn net.Conn) error {
	local, ok := unixsock.Of(conn)
	if !ok {
		return nil
	}
	t := truster{self: os.Geteuid(), users: c.TrustUsers, named: c.Named}
	cred, ok, err := peercred.Of(local)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrOwner, c.target(), err)
	case ok && t.refuses(cred.User):
		return fmt.Errorf("%w: what listens at %s belongs to user %d", ErrOwner, c.target(), cred.User)
	case c.Named:
		return nil
	}
	for _, path := range []string{c.Socket, filepath.Dir(c.Socket)} {
		if fault := t.fault(placeAt(path)); fault != "" {
			return fmt.Errorf("%w: %s", ErrOwner, fault)
		}
	}
	return nil
}

// placeAt looks at a path. What is not there any more is nobody's: the process at the
// other end is the one that counts.
func placeAt(path string) place {
	info, err := os.Stat(path)
	if err != nil {
		return place{path: path, uid: -1}
	}
	return place{path: path, uid: peercred.Owner(info), mode: info.Mode()}
}

// ParseUsers returns the ids of the users that a text lists, names or numbers with
// commas between them; an empty text has none.
func ParseUsers(text string) ([]int, error) {
	var ids []int
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		if id, err := strconv.ParseUint(word, 10, 31); err == nil {
			ids = append(ids, int(id))
			continue
		}
		who, err := user.Lookup(word)
		if err != nil {
			return nil, fmt.Errorf("client: there is no user %q", word)
		}
		id, err := strconv.Atoi(who.Uid)
		if err != nil {
			return nil, fmt.Errorf("client: user %q has no number", word)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
