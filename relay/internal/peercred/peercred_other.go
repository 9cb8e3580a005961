// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package peercred

import "net"

func lookUp(*net.UnixConn) (uid int, ok bool, err error) { return 0, false, nil }

func gone(*net.UnixConn) func() bool { return nil }
