// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package peercred

import "syscall"

func lookUp(syscall.Conn) (uid int, ok bool, err error) { return 0, false, nil }

func gone(syscall.Conn) func() bool { return nil }
