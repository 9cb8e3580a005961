// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/arke-mesh/arke/relay/internal/peercred"
)

// sharing says whose processes may attach over the socket, and how it is protected.
type sharing struct {
	Share
	self int // the user whose process the relay is
}

// sharing is the Share with its defaults.
func (c Config) sharing() sharing {
	s, to := c.Share, sharing{c.Share, os.Geteuid()}
	if s.Group != 0 {
		to.Groups = append(slices.Clone(s.Groups), s.Group)
	}
	switch {
	case s.Mode != 0:
	case s.lists():
		to.Mode = 0o666
	case s.Group != 0:
		to.Mode = 0o660
	default:
		to.Mode = 0o600
	}
	return to
}

// lists says whether others may attach than the members of the socket's group.
func (s Share) lists() bool { return s.Anyone || len(s.Users) > 0 || len(s.Groups) > 0 }

func (s Share) validate() error {
	const ours, theirs = fs.FileMode(0o600), fs.FileMode(0o060 | 0o006)
	shared := s.lists() || s.Group != 0
	switch {
	case slices.ContainsFunc(slices.Concat(s.Users, s.Groups, []int{s.Group}), func(id int) bool { return id < 0 }):
		return errors.New("relay: Config.Share has a negative id")
	case s.Mode&^0o666 != 0 || s.Mode != 0 && s.Mode&ours != ours:
		return fmt.Errorf("relay: Config.Share.Mode is %#o: a socket has 0600 and perhaps read and write for others", uint32(s.Mode))
	case shared && s.Mode != 0 && s.Mode&theirs == 0:
		return fmt.Errorf("relay: Config.Share.Mode is %#o, which keeps out those who may attach", uint32(s.Mode))
	case !shared && s.Mode&theirs != 0:
		return fmt.Errorf("relay: Config.Share.Mode is %#o, but nobody else may attach: say who", uint32(s.Mode))
	case shared && !peercred.Tells:
		return ErrNoCredentials
	}
	return nil
}

// dirMode is the mode of the directory that is made for the socket.
func (s sharing) dirMode() fs.FileMode {
	if s.Mode&0o066 != 0 {
		return 0o755
	}
	return 0o700
}

// refuses says why a process may not attach; "" = it may.
func (s sharing) refuses(c peercred.Credentials) string {
	switch {
	case c.User == 0, c.User == s.self, s.Anyone, slices.Contains(s.Users, c.User), c.In(s.Groups):
		return ""
	case len(s.Users) == 0 && len(s.Groups) == 0:
		return fmt.Sprintf("the process at the other end belongs to user %d, this relay to user %d, who shares it with nobody", c.User, s.self)
	}
	return fmt.Sprintf("this relay takes no programs of user %d in groups %v: its owner, user %d, can allow one of them", c.User, c.Groups, s.self)
}
