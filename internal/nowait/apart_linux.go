// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package nowait

import "golang.org/x/sys/unix"

// onceApart is once, and ends the buffer that the kernel fills: MSG_EOR, which TCP knows
// since Linux 4.7. If it takes nothing, the socket is full: who waits for room may rely on it.
func onceApart(fd uintptr, b []byte) (int, error) {
	for {
		n, err := unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_EOR)
		if err != unix.EINTR {
			return n, patient(err)
		}
	}
}
