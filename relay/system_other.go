// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package relay

import "errors"

var errLocked = errors.New("locked by another process")

// lockFile is not there: two relays that start at the same moment at the same
// socket are not told apart.
func lockFile(string) (unlock func(), err error) { return func() {}, nil }

func makePrivate(uintptr) {}

// refused trusts that whatever went wrong means that nobody listens.
func refused(err error) bool { return err != nil }
