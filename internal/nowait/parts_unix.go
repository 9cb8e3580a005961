// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux || darwin || openbsd

package nowait

import "golang.org/x/sys/unix"

// maxParts is how many parts the kernel takes in one call.
const maxParts = 1024

// onceParts is once of many parts.
func onceParts(fd uintptr, parts [][]byte) (int, error) {
	n, err := unix.Writev(int(fd), parts[:min(len(parts), maxParts)])
	return n, patient(err)
}
