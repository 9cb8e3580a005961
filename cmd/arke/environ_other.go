// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

// hide does nothing: there is no /proc/PID/environ.
func hide(...string) {}
