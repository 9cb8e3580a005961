// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package bell

// Bell is none here.
type Bell struct{}

// New returns nil.
func New() *Bell { return nil }

// Ring does nothing.
func (*Bell) Ring() {}

// Begin is false.
func (*Bell) Begin() bool { return false }

// Wait is false.
func (*Bell) Wait() bool { return false }

// Close does nothing.
func (*Bell) Close() {}
