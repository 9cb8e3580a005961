// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command probe has a hook: TestNormalProgramsHaveNoBugs looks for what is left
// of it in the program.
package main

import "github.com/arke-mesh/arke/internal/mutant"

func main() {
	if mutant.On(mutant.HandledTwice) {
		println("the hook is in the program")
	}
}
