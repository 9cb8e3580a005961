// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nowait

// onceApart is once: what the kernel does with its buffers is its own.
func onceApart(fd uintptr, b []byte) (int, error) { return once(nil, fd, b) }
