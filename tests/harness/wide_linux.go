// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// openWide opens a TUN device of a network namespace: what the kernel there routes to it
// is read, and what is written arrives there.
func openWide(namespace, device string) (io.ReadWriteCloser, error) {
	var file *os.File
	err := inNamespace(namespace, func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("/dev/net/tun: %w", err)
		}
		r, err := unix.NewIfreq(device)
		if err == nil {
			r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
		}
		if err == nil {
			err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
		}
		if err != nil {
			_ = unix.Close(fd)
			return fmt.Errorf("device %s: %w", device, err)
		}
		file = os.NewFile(uintptr(fd), device)
		return nil
	})
	return file, err
}

// inNamespace calls f on a thread in a network namespace that `ip` has made: what it
// opens belongs there.
func inNamespace(name string, f func() error) error {
	there, err := os.Open("/run/netns/" + name)
	if err != nil {
		return err
	}
	defer there.Close()
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			runtime.UnlockOSThread()
			result <- err
			return
		}
		defer home.Close()
		if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			result <- err
			return
		}
		err = f()
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back == nil {
			runtime.UnlockOSThread() // else the thread ends with this goroutine
		}
		result <- err
	}()
	return <-result
}
