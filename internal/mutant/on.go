// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build mutants

package mutant

import (
	"fmt"
	"os"
)

// chosen is the one bug of this process; immutable.
var chosen = choose(os.Getenv(Variable))

// On says whether the program has bug b.
func On(b Bug) bool { return b == chosen }

// choose ends a program whose bug is misspelt: the score of a run without a bug
// would be wrong.
func choose(name string) Bug {
	b, ok := Find(name)
	if !ok && name != "" {
		fmt.Fprintf(os.Stderr, "%s=%s: there is no bug of that name\n", Variable, name)
		os.Exit(2)
	}
	return b
}
