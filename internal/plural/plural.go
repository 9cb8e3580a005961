// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package plural

import (
	"strconv"
	"strings"
)

// Of writes a number of things: "1 member", "2 members".
func Of(n int, noun string) string { return strconv.Itoa(n) + " " + Noun(n, noun) }

// Noun is the noun as it follows the number n.
func Noun(n int, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "y"):
		return strings.TrimSuffix(noun, "y") + "ies"
	case strings.HasSuffix(noun, "fe"):
		return strings.TrimSuffix(noun, "fe") + "ves"
	}
	return noun + "s"
}
