// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !zenoh

package system

import "errors"

// zenohSystems says that the benchmark was built without Zenoh's crate.
func zenohSystems() []System {
	return []System{{
		Name: "zenoh", About: "Rust crate, peer to peer, plain TCP, no router",
		Topics: true, Requests: true,
		Missing: func() error {
			return errors.New("built without -tags zenoh: make deps, which needs cargo, then make peers")
		},
	}}
}
