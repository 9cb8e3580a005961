// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/arke-mesh/arke/cmd/arke/internal/cli"
)

func main() {
	drain, abort := signals()
	os.Exit(run(drain, abort))
}

func run(drain, abort context.Context) int {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	app := cli.App{
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Env: cli.Env{
			Network:    os.Getenv("ARKE_NETWORK"),
			Socket:     os.Getenv("ARKE_SOCKET"),
			Token:      os.Getenv("ARKE_TOKEN"),
			RuntimeDir: os.Getenv("XDG_RUNTIME_DIR"),
			GOGC:       os.Getenv("GOGC"),
		},
		Executable: self,
		Abort:      abort,
	}
	return app.Run(drain, os.Args[1:])
}
