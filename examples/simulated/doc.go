// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulated shows how to test what becomes of your own service when
// the network fails: the service runs on fifty simulated nodes, in one process
// and in virtual time, a link is cut, and the test asserts.
//
// To use:
//
//	go test -v ./examples/simulated
package simulated
