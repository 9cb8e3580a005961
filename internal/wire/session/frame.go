// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Frame is one message of the protocol. Its implementations are the pointers
// to the types of this package that are named after the kinds.
type Frame interface {
	Kind() Kind
	encode(*encoder)
	decode(*decoder)
}

// newFrame returns a zero frame of kind k; nil if k is unknown.
func newFrame(k Kind) Frame {
	if frame := kinds[k].frame; frame != nil {
		return frame()
	}
	return nil
}
