// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	_ "embed"
	"strings"
	_ "time/tzdata" // the database itself, for machines that have none
)

//go:generate go run ./names

//go:embed names.txt
var names string

// Names returns every zone of the database in alphabetical order. The caller
// owns the slice.
func Names() []string { return strings.Fields(names) }
