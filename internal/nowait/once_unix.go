// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package nowait

import (
	"errors"
	"syscall"
)

// once makes one attempt on a socket that does not block.
func once(calls *Calls, fd uintptr, b []byte) (int, error) {
	n, err := calls.Write(int(fd), b)
	return n, patient(err)
}

// patient is what an error means to who can wait.
func patient(err error) error {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		return nil
	}
	return err
}
