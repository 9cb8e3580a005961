// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// chainSystems are limits of what goes through servers: each hop is a process that
// passes on the bytes it reads, one goroutine for each direction, and looks at none.
func chainSystems() []System {
	one := System{
		Name: "chain-1", About: "limit: program → forwarder → program, plain TCP, as through one NATS server",
		Topics: true, Requests: true, Version: runtime.Version,
		Start: func(site Site) ([]string, error) {
			address := site.FreePort()
			return []string{"tcp:" + address}, launchForward(site, "tcp:"+address, chainMember(site.Dir(), "tcp"))
		},
		Join: joinChain,
	}
	two := one
	two.Name, two.About = "chain-2", "limit: program → forwarder → forwarder → program, unix sockets and TLS 1.3, as through two relays"
	two.Start = func(site Site) ([]string, error) {
		if err := writeCertificate(site.Dir()); err != nil {
			return nil, err
		}
		middle, near := "tls:"+site.FreePort(), "unix:"+filepath.Join(site.Dir(), "near.sock")
		if err := launchForward(site, middle, chainMember(site.Dir(), "unix")); err != nil {
			return nil, err
		}
		return []string{near}, launchForward(site, near, middle)
	}
	return []System{one, two}
}

// chainMember is where the responder's address is found: it is not known before that
// listens, which is after the forwarders do.
func chainMember(dir, kind string) string { return "file:" + kind + ":" + filepath.Join(dir, "member") }

func launchForward(site Site, listen, dial string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = site.Launch("ready", nil, program, ForwardCommand, site.Dir(), listen, dial)
	return err
}

func joinChain(setup Setup) (Seat, error) {
	return joinBare(chainConns{dir: setup.Dir, server: setup.server()})(setup)
}

// chainConns are connections of programs at the ends of a chain.
type chainConns struct{ dir, server string }

func (c chainConns) listen(each func(io.ReadWriteCloser)) (string, error) {
	kind, _, _ := strings.Cut(c.server, ":")
	address := "127.0.0.1:0"
	if kind == "unix" {
		address = filepath.Join(c.dir, "member.sock")
	}
	l, err := net.Listen(kind, address)
	if err != nil {
		return "", err
	}
	address = acceptAll(l, each)
	return address, os.WriteFile(filepath.Join(c.dir, "member"), []byte(address), 0o600)
}

func (c chainConns) dial(string) (io.ReadWriteCloser, error) { return dialChain(c.dir, c.server) }

func (chainConns) close() error { return nil }

// ForwardCommand is the first argument with which a program is to call Forward with
// those that follow.
const ForwardCommand = "forward"

// Forward is a forwarder of a chain, until it is killed: args are the directory of the
// run, where it listens and what it dials for each connection, both "KIND:ADDRESS", of
// kind unix, tcp or tls.
func Forward(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("system: %s DIR LISTEN DIAL", ForwardCommand)
	}
	dir, dial := args[0], args[2]
	kind, address, _ := strings.Cut(args[1], ":")
	var l net.Listener
	var err error
	if kind == "tls" {
		var conns secureConns
		if conns, err = newSecureConns(dir); err == nil {
			l, err = tls.Listen("tcp", address, conns.server)
		}
	} else {
		l, err = net.Listen(kind, address)
	}
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		near, err := l.Accept()
		if err != nil {
			return err
		}
		far, err := dialChain(dir, dial)
		if err != nil {
			return err
		}
		go pass(near, far)
		go pass(far, near)
	}
}

// dialChain dials "KIND:ADDRESS"; of kind "file:KIND" the address is what the file says.
func dialChain(dir, to string) (net.Conn, error) {
	kind, address, _ := strings.Cut(to, ":")
	if kind == "file" {
		var file string
		kind, file, _ = strings.Cut(address, ":")
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		address = string(text)
	}
	if kind != "tls" {
		return net.Dial(kind, address)
	}
	conns, err := newSecureConns(dir)
	if err != nil {
		return nil, err
	}
	return tls.Dial("tcp", address, conns.client)
}

// pass writes to one connection what comes from another, as it comes. It does not use
// what the kernel could do without us: a server looks at what it passes on.
func pass(to io.WriteCloser, from io.Reader) {
	defer to.Close()
	b := make([]byte, pipeBytes)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}
