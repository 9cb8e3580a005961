// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package fake stands in for the requests below a pattern, in the tests of those
// that ask every member. Tests only may import it.
package fake
