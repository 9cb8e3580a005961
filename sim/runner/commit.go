// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import "runtime/debug"

// stamp is the commit, if the linker was told (make build does); go run and
// go install of a version know it without.
var stamp string

// commit is the one that this program was built from, with a + if the files
// were not those of the commit; "" = unknown.
func commit() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "+"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}
