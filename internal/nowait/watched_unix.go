// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package nowait

import (
	"os"
	"syscall"
	"time"
)

// Watched returns fd, which does not block, as a file of that name that the runtime watches,
// so that who waits for it takes no thread. It takes fd over: after an error fd is closed.
func Watched(fd int, name string) (*os.File, syscall.RawConn, error) {
	f := os.NewFile(uintptr(fd), name)
	raw, err := f.SyscallConn()
	if err == nil {
		err = f.SetDeadline(time.Time{}) // fails where it is not watched
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, raw, nil
}
