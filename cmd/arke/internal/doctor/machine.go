// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/arke-mesh/arke/internal/plural"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

const (
	// fewFiles is how many open files a relay of medium size needs: a link, and a
	// program that is attached, take one each.
	fewFiles = 1024
	// fewBytes is how much room the data directory should have: it holds some kilobytes.
	fewBytes = 1 << 20
)

// keyFile says whether the network file can be used. A relay that runs has one.
func keyFile(cfg Config, running bool) Finding {
	if errors.Is(cfg.NetworkErr, ErrNoNetwork) && running {
		return skipped("key file", "none was named; the relay has one")
	}
	if cfg.NetworkErr != nil {
		return problem("key file", "make one with 'arke keygen --out FILE', or copy that of the network; only its owner may read it", "%v", cfg.NetworkErr)
	}
	return ok("key file", "network %q, %s", cfg.Network.Name, plural.Of(len(cfg.Network.Keys), "key"))
}

// dataDir says whether the node's key and its peers can be kept.
func dataDir(cfg Config, running bool) Finding {
	const check = "data directory"
	if cfg.DataDir == "" && running {
		return skipped(check, "none was named; the relay may have one")
	}
	if cfg.DataDir == "" {
		return warning(check, "give --data-dir DIR", "none: the relay has a new peer id after each start, and remembers no peers")
	}
	info, err := os.Stat(cfg.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(filepath.Clean(cfg.DataDir))); err != nil {
			return problem(check, "make the directory above it", "%s can't be made: %v", cfg.DataDir, err)
		}
		return ok(check, "%s is made at the first start", cfg.DataDir)
	case err != nil:
		return problem(check, "let the relay's user read it", "%v", err)
	case !info.IsDir():
		return problem(check, "name a directory", "%s is none", cfg.DataDir)
	}
	if err := security.CheckDirectory(cfg.DataDir); err != nil {
		return problem(check, "make it the relay's user's alone: others could give this node another key", "%v", err)
	}
	f, err := os.CreateTemp(cfg.DataDir, ".doctor-*")
	if err != nil {
		return problem(check, "let the relay's user write it, or make room", "%v", err)
	}
	f.Close()
	os.Remove(f.Name())
	if free, known := freeBytes(cfg.DataDir); known && free < fewBytes {
		return problem(check, "make room", "%s has %d bytes left", cfg.DataDir, free)
	}
	return ok(check, "%s can be written", cfg.DataDir)
}

// limits says whether the system lets a relay grow.
func limits() Finding {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return skipped("open files", "the limit can't be read: %v", err)
	}
	if files.Max < fewFiles {
		return warning("open files", "raise the limit: LimitNOFILE= of systemd, or ulimit -n", "at most %d at once: each link and each attached program takes one", files.Max)
	}
	return ok("open files", "at most %d at once", files.Max)
}

// localNetwork says whether mDNS can find anybody.
func localNetwork(cfg Config) Finding {
	if cfg.NoMDNS {
		return skipped("mDNS", "it is switched off")
	}
	all, err := net.Interfaces()
	if err != nil {
		return skipped("mDNS", "the interfaces can't be read: %v", err)
	}
	var useful []string
	for _, i := range all {
		if i.Flags&(net.FlagUp|net.FlagMulticast|net.FlagLoopback) == net.FlagUp|net.FlagMulticast {
			useful = append(useful, i.Name)
		}
	}
	if len(useful) == 0 {
		return warning("mDNS", "name a --seed, or say --no-mdns", "no interface takes part in multicast: peers are not found by themselves")
	}
	return ok("mDNS", "on %v", useful)
}

// socket says whether programs can reach a relay.
func socket(cfg Config, err error) Finding {
	switch {
	case len(cfg.Socket) > relay.MaxSocketPath:
		return problem("socket", "choose a shorter path with --socket", "%s has %d bytes, a socket's path has %d at most", cfg.Socket, len(cfg.Socket), relay.MaxSocketPath)
	case err == nil:
		return ok("socket", "a relay answers at %s", cfg.Socket)
	case errors.Is(err, patterns.ErrTooMany):
		return problem("socket", "end some programs, or start the relay with a larger --max-clients", "%v", err)
	case errors.Is(err, patterns.ErrUnauthorized):
		return problem("socket", "run this as a user who may use the relay, or with its token", "%v", err)
	}
	if _, gone := os.Stat(filepath.Dir(cfg.Socket)); gone != nil {
		return problem("socket", "make the directory, or choose another path with --socket", "%v", gone)
	}
	return warning("socket", "start one: arke relay --key-file FILE", "no relay answers at %s", cfg.Socket)
}

// ports says whether a relay could listen.
func ports(cfg Config) (found []Finding) {
	for _, text := range cfg.Listen {
		addr, err := ma.NewMultiaddr(text)
		if err != nil {
			found = append(found, problem("port", "write it like /ip4/0.0.0.0/tcp/7400", "%v", err))
			continue
		}
		l, err := manet.Listen(addr)
		switch {
		case errors.Is(err, syscall.EADDRINUSE) && cfg.AnyPort:
			found = append(found, warning("port", "end the program that has it, or choose one with --listen", "%s is taken: a relay would choose another port", text))
		case errors.Is(err, syscall.EADDRINUSE):
			found = append(found, problem("port", "end the program that has it, or choose another one", "%s is taken", text))
		case err != nil:
			found = append(found, problem("port", "choose an address of this machine", "%v", err))
		default:
			l.Close()
			found = append(found, ok("port", "%s is free", text))
		}
	}
	return found
}
