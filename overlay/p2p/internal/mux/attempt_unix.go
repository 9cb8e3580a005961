// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package mux

import "syscall"

// writeOnce makes one attempt on a socket that does not block.
func writeOnce(fd uintptr, b []byte) (int, error) {
	n, err := syscall.Write(int(fd), b)
	if again(err) {
		return 0, nil
	}
	return n, err
}
