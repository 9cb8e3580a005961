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
	env := cli.Env{
		Network:    secret("ARKE_NETWORK"),
		Socket:     os.Getenv("ARKE_SOCKET"),
		Token:      secret("ARKE_TOKEN"),
		RuntimeDir: os.Getenv("XDG_RUNTIME_DIR"),
		GOGC:       os.Getenv("GOGC"),
	}
	if env.Network != "" || env.Token != "" {
		hide("ARKE_NETWORK", "ARKE_TOKEN")
	}
	app := cli.App{
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Env:        env,
		Environ:    os.Environ(),
		Executable: self,
		Abort:      abort,
	}
	return app.Run(drain, os.Args[1:])
}

// secret reads a variable and unsets it, so that no child process inherits it.
func secret(name string) string {
	value := os.Getenv(name)
	_ = os.Unsetenv(name) // fails for malformed names only
	return value
}
