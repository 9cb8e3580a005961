// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// outliveReaders keeps a command that serves others alive when nobody reads its
// output any more, as after arke relay | grep -m 1 ready: what it prints is lost
// then, what it serves is not. Other commands die of that, as programs do whose
// output is what they are for.
func outliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
