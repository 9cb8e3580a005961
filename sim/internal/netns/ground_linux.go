// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// What a ground's device is like.
const (
	deviceName  = "tun0"
	deviceMTU   = 1400
	deviceQueue = 5000 // packets that the kernel keeps for the router
)

// ground is a network namespace with one TUN device, and the thread that lives
// in it. It has no name: it ends with the thread, the device and the processes
// that were started there, so nothing is left behind whatever happens to this
// process.
type ground struct {
	tun   *os.File
	calls chan func()
	end   func()
	over  chan struct{}
	wg    sync.WaitGroup
}

// newGround makes a namespace whose device has the address in the network
// that the mask gives.
func newGround(addr, mask address) (*ground, error) {
	g := &ground{calls: make(chan func()), over: make(chan struct{})}
	g.end = sync.OnceFunc(func() { close(g.over) })
	made := make(chan error)
	g.wg.Go(func() { g.settle(func() { g.live(addr, mask, made) }) })
	if err := <-made; err != nil {
		g.wg.Wait()
		return nil, err
	}
	return g, nil
}

// settle calls live on a thread of its own, which is never unlocked and so ends
// with it. The process's first thread would not end, and stands for the whole
// process in /proc: that one is left alone.
func (g *ground) settle(live func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		live()
		return
	}
	defer runtime.UnlockOSThread()
	taken := make(chan struct{})
	g.wg.Go(func() {
		runtime.LockOSThread()
		close(taken)
		live()
	})
	<-taken
}

// live runs on the thread in the namespace.
func (g *ground) live(addr, mask address, made chan<- error) {
	err := unix.Unshare(unix.CLONE_NEWNET)
	if err != nil {
		err = fmt.Errorf("netns: making a network namespace: %w", err)
	} else {
		g.tun, err = openDevice(addr, mask)
	}
	made <- err
	for err == nil {
		select {
		case f := <-g.calls:
			f()
		case <-g.over:
			return
		}
	}
}

// run calls f on the thread in the namespace: sockets that it opens and
// processes that it starts belong there. Such a process is killed with the
// ground, if it asked for that.
func (g *ground) run(f func() error) error {
	result := make(chan error, 1)
	select {
	case g.calls <- func() { result <- f() }:
		return <-result
	case <-g.over:
		return errors.New("netns: the namespace is gone")
	}
}

// close ends the namespace. It is idempotent and waits.
func (g *ground) close() {
	g.end()
	g.wg.Wait()
	_ = g.tun.Close()
}

// openDevice makes the TUN device and brings it and loopback up, in the
// namespace of the calling thread.
func openDevice(addr, mask address) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("netns: /dev/net/tun: %w", err)
	}
	if err := setUp(fd, addr, mask); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("netns: setting up a TUN device: %w", err)
	}
	return os.NewFile(uintptr(fd), deviceName), nil
}

func setUp(tun int, addr, mask address) error {
	err := request(tun, unix.TUNSETIFF, deviceName, func(r *unix.Ifreq) error {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		return nil
	})
	if err != nil {
		return err
	}
	// Without IPv6 the device carries nothing that nobody asked for.
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+deviceName+"/disable_ipv6", []byte("1"), 0)
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	up := func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil }
	return errors.Join(
		request(s, unix.SIOCSIFADDR, deviceName, func(r *unix.Ifreq) error { return r.SetInet4Addr(addr[:]) }),
		request(s, unix.SIOCSIFNETMASK, deviceName, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask[:]) }),
		request(s, unix.SIOCSIFMTU, deviceName, func(r *unix.Ifreq) error { r.SetUint32(deviceMTU); return nil }),
		request(s, unix.SIOCSIFTXQLEN, deviceName, func(r *unix.Ifreq) error { r.SetUint32(deviceQueue); return nil }),
		request(s, unix.SIOCSIFFLAGS, deviceName, up),
		request(s, unix.SIOCSIFFLAGS, "lo", up),
	)
}

// request asks the kernel to change something of a device.
func request(fd int, what uint, device string, fill func(*unix.Ifreq) error) error {
	r, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := fill(r); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, what, r); err != nil {
		return fmt.Errorf("device %s, request %#x: %w", device, what, err)
	}
	return nil
}
