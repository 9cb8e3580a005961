// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"encoding/binary"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes one thread, precisely or when it rings.
type alarm struct{ fd int }

func newAlarm() (*alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("netns: eventfd: %w", err)
	}
	return &alarm{fd}, nil
}

// tune makes the calling thread wake as precisely as the kernel lets it, and
// run before everything else. Where that is not allowed it is a little later.
func (a *alarm) tune() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	first := &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	_ = unix.SchedSetAttr(0, first, 0)
}

// wait returns when d is over or the alarm rings; it may return sooner. A
// negative d is endless.
func (a *alarm) wait(d time.Duration) {
	var limit *unix.Timespec
	if d >= 0 {
		t := unix.NsecToTimespec(int64(d))
		limit = &t
	}
	fds := []unix.PollFd{{Fd: int32(a.fd), Events: unix.POLLIN}}
	if n, err := unix.Ppoll(fds, limit, nil); err != nil || n == 0 {
		return // interrupted by a signal, or it is time
	}
	var count [8]byte
	_, _ = unix.Read(a.fd, count[:])
}

// ring ends a wait: the one under way or the next one.
func (a *alarm) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(a.fd, one[:])
}

func (a *alarm) close() { _ = unix.Close(a.fd) }
