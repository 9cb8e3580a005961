// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"strings"
)

// RandomPattern makes one of few words, so that patterns meet; intN(n) draws below n.
func RandomPattern(intN func(int) int, wildcards bool) string {
	words := make([]string, 1+intN(4))
	for i := range words {
		words[i] = string(rune('a' + intN(3)))
		if wildcards && intN(4) == 0 {
			words[i] = "*"
		}
	}
	if wildcards && intN(4) == 0 {
		words = append(words, ">")
	}
	return strings.Join(words, ".")
}
