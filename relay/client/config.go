// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// MinToken is how many bytes a token has at least.
const MinToken = wire.MinToken

// Config says where the relay is. Exactly one of Socket and Address is
// required; every other zero value means the default named at the field.
type Config struct {
	// Socket is the path of the relay's unix socket, see DefaultSocket.
	Socket string
	// Named says that the user has named Socket. Root attaches to whoever listens
	// there then. Else the program has looked where relays usually are, and it also
	// matters who owns the socket's file and directory.
	Named bool
	// TrustUsers are the ids of users whose relays the program attaches to, besides
	// its own and root's.
	TrustUsers []int
	// Address is the relay's loopback "host:port".
	Address string
	// Token is one that the relay was started with, of 16 to 1,024 bytes; required
	// with Address. It is never sent: client and relay prove to each other that they
	// have it.
	Token string

	// Name is what the client calls itself in the relay's logs and status; at
	// most 255 bytes. Default: the name of the program.
	Name string
	// Keys are those of clusters, and of groups of topics, that have keys of their
	// own. The relay has them in memory for as long as the session lives, and
	// serves, calls, publishes and subscribes for this client under them. About 25
	// clusters with two keys each have room. Default: the relay's own keys.
	Keys []security.ClusterFile
	// Observer limits the client to Status, Members and Names. A relay that is full has a
	// few places for such clients. Default: the client may do everything.
	Observer bool
	// RelayWait is how long a call waits for a relay that is gone to come
	// back, before it fails with patterns.ErrUnreachable; the call's own
	// deadline may end it sooner. Default 2 s.
	RelayWait time.Duration
	// Refused, if not nil, is called for each message that Publish or TryPublish
	// accepted and that may not have been published: with the relay's reason, or
	// with patterns.ErrInterrupted if its session was lost and the relay may have
	// published it. Those calls come when the relay's process has ended, at the next
	// attach, or at Close. Messages that the same process did not receive are sent
	// again, except one in fragments of which it acknowledged some: the session no
	// longer has those. It must not block.
	Refused func(err error)
	// Seam is what the simulator puts in place of time, chance, workers and the
	// socket. Default: the real ones.
	Seam *Seam
	// Logger is where the client logs; nil = nowhere.
	Logger *zap.Logger
}

const (
	// defaultTimeout is that of package patterns.
	defaultTimeout = 5 * time.Second
	// maxName bounds names, in bytes.
	maxName = 255
	// maxPublication bounds what is published, headers and body, in bytes.
	maxPublication = 1 << 20
)

// Seam is what a client needs from outside. All fields are required.
type Seam struct {
	Clock overlay.Clock
	Rand  overlay.Rand
	// Exec runs handlers and subscribers. It outlives the client.
	Exec overlay.Exec
	// Dial connects to the relay; an error that is syscall.ECONNREFUSED says that
	// nobody listens there.
	Dial func(ctx context.Context) (net.Conn, error)
}

// DefaultSocket is where relay and client meet unless told otherwise:
// arke/relay.sock in the user's runtime directory (usually $XDG_RUNTIME_DIR),
// or, if that is "", in a directory of the user's own among the temporary
// files.
func DefaultSocket(runtimeDir string) string {
	if runtimeDir != "" {
		return filepath.Join(runtimeDir, "arke", "relay.sock")
	}
	return filepath.Join(os.TempDir(), "arke-"+strconv.Itoa(os.Getuid()), "relay.sock")
}

// machineSocket is where a relay of the whole machine listens.
const machineSocket = "/run/arke/relay.sock"

// FindSocket is where programs look for a relay: where they were told to (said,
// the environment variable ARKE_SOCKET), else in the user's runtime directory
// (DefaultSocket), else, if nothing is there, where a relay of the whole machine
// listens: /run/arke/relay.sock.
func FindSocket(said, runtimeDir string) string { return findSocket(said, runtimeDir, machineSocket) }

func findSocket(said, runtimeDir, machine string) string {
	if said != "" {
		return said
	}
	user := DefaultSocket(runtimeDir)
	if exists(user) || !exists(machine) {
		return user
	}
	return machine
}

// exists says whether something is there; what we may not look at is.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		name := filepath.Base(os.Args[0])
		c.Name = name[:min(len(name), maxName)]
	}
	c.RelayWait = cmp.Or(c.RelayWait, 2*time.Second)
	c.Logger = cmp.Or(c.Logger, zap.NewNop())
	return c
}

func (c Config) validate() error {
	switch {
	case c.Seam != nil && (c.Seam.Clock == nil || c.Seam.Rand == nil || c.Seam.Exec == nil || c.Seam.Dial == nil):
		return errors.New("client: Config.Seam needs Clock, Rand, Exec and Dial")
	case c.Seam != nil:
	case c.Socket == "" && c.Address == "":
		return errors.New("client: Config.Socket or Config.Address is required: where is the relay? DefaultSocket says where it usually is")
	case c.Socket != "" && c.Address != "":
		return errors.New("client: Config.Socket and Config.Address exclude each other")
	case len(c.Token) > wire.MaxToken:
		return fmt.Errorf("client: Config.Token is longer than %d bytes", wire.MaxToken)
	case c.Seam == nil && c.Address != "" && c.Token == "":
		return fmt.Errorf("%w: Config.Address needs Config.Token", ErrToken)
	case c.Token != "" && len(c.Token) < wire.MinToken:
		return fmt.Errorf("%w: Config.Token has %d bytes, a relay's has %d at least", ErrToken, len(c.Token), wire.MinToken)
	case len(c.Name) > maxName:
		return fmt.Errorf("client: Config.Name is longer than %d bytes", maxName)
	case c.RelayWait < 0:
		return errors.New("client: Config.RelayWait must be positive")
	}
	return CheckKeys(c)
}

// connect connects to the relay.
func (c Config) connect(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	switch {
	case c.Seam != nil:
		return c.Seam.Dial(ctx)
	case c.Socket != "":
		return d.DialContext(ctx, "unix", c.Socket)
	}
	return d.DialContext(ctx, "tcp", c.Address)
}

// target names the relay for people.
func (c Config) target() string {
	if c.Socket != "" {
		return c.Socket
	}
	return c.Address
}
