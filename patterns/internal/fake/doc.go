// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package fake stands in, in tests, for what is below a pattern: for requests, in those of
// patterns that ask every member, and for links, in those of topics. Tests only may import
// it.
package fake
