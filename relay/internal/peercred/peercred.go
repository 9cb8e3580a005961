// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package peercred

import (
	"fmt"
	"syscall"
)

// Check returns an error that says whose process is at the other end of c,
// unless it is that of self, the effective user of this process, or root's.
// Where the system can't tell, Check finds nothing wrong: the permissions of
// the socket and of its directory have to do.
func Check(c syscall.Conn, self int) error {
	uid, ok, err := lookUp(c)
	if err != nil {
		return fmt.Errorf("who is at the other end: %w", err)
	}
	if !ok || uid == self || uid == 0 {
		return nil
	}
	return fmt.Errorf("the process at the other end belongs to user %d, this one to user %d", uid, self)
}

// Gone returns what says whether the process that connected c has ended, a moment
// after it has; nil where that can't be told. Of a pid that another process got
// meanwhile it says no.
func Gone(c syscall.Conn) func() bool { return gone(c) }
