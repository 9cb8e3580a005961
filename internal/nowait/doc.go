// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package nowait writes to a socket what the kernel takes at once, so that whoever
// has something to send can write it without ever being held up.
package nowait
