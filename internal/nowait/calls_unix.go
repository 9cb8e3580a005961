// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package nowait

import "syscall"

// Read is read(2) of a socket that does not block.
func (c *Calls) Read(fd int, p []byte) (int, error) { return syscall.Read(fd, p) }

// Write is write(2) to a socket that does not block.
func (c *Calls) Write(fd int, p []byte) (int, error) { return syscall.Write(fd, p) }
