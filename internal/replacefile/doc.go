// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package replacefile puts a file in the place of another one whole: who reads it
// meanwhile, or after the machine has lost its power, finds the old one or the new
// one. It has no state and starts no goroutine.
package replacefile
