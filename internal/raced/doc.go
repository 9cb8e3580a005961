// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package raced says whether the program was built with the race detector, which
// allocates and takes time of its own. Tests only import it.
package raced
