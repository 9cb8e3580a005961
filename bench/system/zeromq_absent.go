// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !zmq

package system

import "errors"

// zeromqSystems says that the benchmark was built without libzmq.
func zeromqSystems() []System {
	return []System{{
		Name: "zeromq", About: "PUB/SUB and REQ/ROUTER, plain TCP, no broker",
		Topics: true, Requests: true,
		Missing: func() error { return errors.New("built without -tags zmq: make deps, then make peers") },
	}}
}
