// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

// tooLarge lists the types that are beyond the bounds, with what they have:
// methods, files with methods, fields. It may only shrink.
var tooLarge = map[string]shape{
	"overlay/p2p.Host":       limit(16, 6, 17),
	"overlay/p2p.assembly":   limit(20, 6, 8),
}
