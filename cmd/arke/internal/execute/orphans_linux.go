// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reap collects orphans until ctx ends. Only the first process of a container has any:
// the kernel gives it the children of every process that has ended, and they remain as
// zombies until it waits for them. Run it in one goroutine.
func (o *Orphans) Reap(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	defer signal.Stop(ended)
	for {
		o.collect()
		select {
		case <-ended:
		case <-o.waited:
		case <-ctx.Done():
			return
		}
	}
}

// collect waits for children that have ended until there are none, or one is a command,
// whose status package os/exec must get. That one's Wait leads here again.
func (o *Orphans) collect() {
	for {
		o.mu.Lock()
		pid := zombie()
		_, command := o.commands[pid]
		if pid != 0 && !command {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		o.mu.Unlock()
		if pid == 0 || command {
			return
		}
	}
}

// zombie returns the id of a child that has ended, without collecting it; 0 = none.
func zombie() int {
	var info unix.Siginfo
	if unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil {
		return 0
	}
	// siginfo_t: three ints, then a union aligned like a pointer, which begins with the id.
	const word = unsafe.Sizeof(uintptr(0))
	const union = (unsafe.Sizeof(info.Signo)*3 + word - 1) / word * word
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), union)))
}
