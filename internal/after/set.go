// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package after

// Set is List where each message decides something, so that no closure can be
// afforded: T is the flags of all that an owner ever does after its lock, each of
// which is done once however often it was decided. What is done with them, and in
// which order, is the owner's. The zero value is empty. The owner's lock guards it.
type Set[T ~uint8 | ~uint16 | ~uint32] struct{ flags T }

// Add has these flags taken.
func (s *Set[T]) Add(flags T) { s.flags |= flags }

// Drop takes back that these flags were added.
func (s *Set[T]) Drop(flags T) { s.flags &^= flags }

// Take returns what was added, and forgets it. The owner calls it before it
// releases the lock.
func (s *Set[T]) Take() (flags T) {
	flags, s.flags = s.flags, 0
	return flags
}
