// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package peercred

import (
	"fmt"
	"slices"
	"syscall"
)

// Credentials are those that a process had when it connected, or began to listen.
type Credentials struct {
	User    int   // effective
	Groups  []int // the effective one first, then the others
	Process int   // pid as this process sees it; 0 = it can't, as from another container
}

// Of returns the credentials of the process at the other end of a unix socket. ok is
// false where the system does not tell.
func Of(c syscall.Conn) (cred Credentials, ok bool, err error) {
	cred, ok, err = lookUp(c)
	if err != nil {
		return Credentials{}, false, fmt.Errorf("who is at the other end: %w", err)
	}
	return cred, ok, nil
}

// In says whether the process is of one of the groups.
func (c Credentials) In(groups []int) bool {
	return slices.ContainsFunc(c.Groups, func(g int) bool { return slices.Contains(groups, g) })
}
