// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package name

import "strings"

// keysMark stands between a name and the id of keys in a reference. No name ends so.
const keysMark = '#'

// idDigits is the length of such an id: 8 bytes in hexadecimal.
const idDigits = 16

// Ref is how a node refers to the cluster of that name under the keys of that id,
// which somebody has brought; "" = under the node's own. Two with the same name and
// other keys are two clusters.
func Ref(name, keys string) string {
	if keys == "" {
		return name
	}
	return name + string(keysMark) + keys
}

// CutRef takes a reference apart. What is none is a name.
func CutRef(ref string) (name, keys string) {
	if !isRef(ref) {
		return ref, ""
	}
	n := len(ref) - idDigits
	return ref[:n-1], ref[n:]
}

func isRef(s string) bool {
	n := len(s) - idDigits - 1
	return n > 0 && s[n] == keysMark && strings.Trim(s[n+1:], "0123456789abcdef") == ""
}
