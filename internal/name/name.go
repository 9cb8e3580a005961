// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reserved begins the names that Arke keeps for itself, such as the clusters for
// which a relay answers.
const Reserved = "$"

// Fault returns what is wrong with the characters of a name, "" if nothing is. A
// name is UTF-8 without control characters, and without blanks at either end. The
// character @ is kept for names of other networks, and an end as a reference's (see Ref) is, too.
func Fault(s string) string {
	switch first, _ := utf8.DecodeRuneInString(s); {
	case !utf8.ValidString(s):
		return "it is not UTF-8"
	case unicode.IsSpace(first) && !unicode.IsControl(first):
		return "it begins with a blank"
	}
	switch last, _ := utf8.DecodeLastRuneInString(s); {
	case unicode.IsSpace(last) && !unicode.IsControl(last):
		return "it ends with a blank"
	case strings.IndexByte(s, '@') >= 0:
		return "the character @ is reserved for names of other networks"
	case isRef(s):
		return "it ends as references to keys do: # and 16 hexadecimal digits"
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return "it has a control character"
		}
	}
	return ""
}

// maxNetwork is how many bytes the name of a network may have, as in its file.
const maxNetwork = 63

// Split takes apart how a caller names a cluster: "geo", or "geo@eu" for the members
// that the network eu has. named says that there is a network, whose name may be bad.
func Split(address string) (cluster, network string, named bool) {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return address[:i], address[i+1:], true
	}
	return address, "", false
}

// NetworkFault returns what is wrong with the name of a network, "" if nothing is. It
// has letters, digits, dots, dashes and underscores.
func NetworkFault(s string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	switch {
	case s == "":
		return "it names no network behind the @"
	case len(s) > maxNetwork:
		return "the name of its network has more than 63 bytes"
	case strings.Trim(s, allowed) != "":
		return "the name of a network has letters, digits, dots, dashes and underscores"
	}
	return ""
}
