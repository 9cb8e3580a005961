// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// echoTime is how long after the first signal another one is taken for the
// same: timeout(1) and some shells send theirs to the process and its group.
const echoTime = 300 * time.Millisecond

// signals returns a context that ends with the first signal, which asks the
// command to finish what it accepted, and one that ends with the second, which
// asks it to end at once. A third does what signals always do.
func signals() (drain, abort context.Context) {
	drain, first := context.WithCancel(context.Background())
	abort, second := context.WithCancel(context.Background())
	c := make(chan os.Signal, 8)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-c
		first()
		time.Sleep(echoTime)
		for len(c) > 0 {
			<-c
		}
		<-c
		second()
		signal.Stop(c)
	}()
	return drain, abort
}
