// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package name

import "strings"

// IsPattern says whether s stands for all names that begin as it does: it ends with *.
func IsPattern(s string) bool { return strings.HasSuffix(s, "*") }

// Matches returns what name has in place of the * of the pattern. ok is false if it does
// not match, and for reserved names, which no pattern stands for.
func Matches(pattern, name string) (rest string, ok bool) {
	if !IsPattern(pattern) || strings.HasPrefix(name, Reserved) {
		return "", false
	}
	return strings.CutPrefix(name, strings.TrimSuffix(pattern, "*"))
}

// Fill puts rest in the place of the pattern's *.
func Fill(pattern, rest string) string { return strings.TrimSuffix(pattern, "*") + rest }
