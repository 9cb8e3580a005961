// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0
//go:build unix

package runner

import (
	"errors"
	"os"
	"syscall"
)

// outcomeFile is the number of the pipe that a child sends messages to.
const outcomeFile = 3

// outcomePipe opens the pipe that the parent gave to this process. Processes
// that this one starts don't get it, or the parent would wait for them.
func outcomePipe() (*os.File, error) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(outcomeFile, &stat); err != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil, errors.New("there is no pipe to answer to")
	}
	syscall.CloseOnExec(outcomeFile)
	return os.NewFile(outcomeFile, "outcome"), nil
}
