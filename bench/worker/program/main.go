// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command program is one process of a run: see package worker. The driver
// builds and starts it.
package main

import (
	"fmt"
	"os"

	"github.com/arke-mesh/arke/bench/worker"
)

func main() {
	if err := worker.Run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
