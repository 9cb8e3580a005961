// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"os/exec"
	"sync"
)

// Orphans tells the commands that handlers run from the orphans that they leave behind,
// which this process must collect where it is the first of a container. All methods may
// be called concurrently.
type Orphans struct {
	waited chan struct{} // a command was collected; holds one

	mu       sync.Mutex // held while a command starts: until its id is known, it looks like an orphan
	commands map[int]struct{}
}

// NewOrphans returns an Orphans that knows no command.
func NewOrphans() *Orphans {
	return &Orphans{waited: make(chan struct{}, 1), commands: map[int]struct{}{}}
}

// start starts a command. A nil o only does that.
func (o *Orphans) start(cmd *exec.Cmd) error {
	if o == nil {
		return cmd.Start()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := cmd.Start()
	if err == nil {
		o.commands[cmd.Process.Pid] = struct{}{}
	}
	return err
}

// wait waits for a command that was started. A command that ended with status 0 has
// succeeded, even if a child of it still holds its pipes.
func (o *Orphans) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if err == exec.ErrWaitDelay {
		err = nil
	}
	if o == nil {
		return err
	}
	o.mu.Lock()
	delete(o.commands, cmd.Process.Pid)
	o.mu.Unlock()
	select {
	case o.waited <- struct{}{}:
	default:
	}
	return err
}
