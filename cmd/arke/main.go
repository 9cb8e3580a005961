// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command arke runs the relay and talks to it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/arke-mesh/arke/cmd/arke/internal/cli"
)

func main() {
	// The first signal asks the command to finish what it accepted; from then
	// on signals do what they always do, so a second one ends at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx))
}

func run(ctx context.Context) int {
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
		},
		Executable: self,
	}
	return app.Run(ctx, os.Args[1:])
}
