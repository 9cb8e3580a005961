// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/internal/door"
	inner "github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/scrape"
	"github.com/arke-mesh/arke/internal/zapslog"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// JoinOption changes the node that Join makes.
type JoinOption func(*joining)

// joining is what the options of Join set.
type joining struct {
	cfg       inner.Config
	logger    *slog.Logger
	collector *Collector
	rotation  *Rotation
	err       error // of the first option that failed
}

// fail keeps the first error; nil is none.
func (j *joining) fail(err error) {
	if j.err == nil {
		j.err = err
	}
}

// NetworkFile names the file that everybody in the network holds. The command
// `arke keygen` makes one. Either NetworkFile or NetworkText is required.
func NetworkFile(path string) JoinOption {
	return func(j *joining) {
		file, err := security.ReadNetworkFile(path)
		j.fail(err)
		j.cfg.Network = file
	}
}

// NetworkText is the content of a network file, for programs that keep it
// elsewhere.
func NetworkText(content []byte) JoinOption {
	return func(j *joining) {
		file, err := security.ParseNetworkFile(content)
		j.fail(err)
		j.cfg.Network = file
	}
}

// NewNetwork makes a network with a random key and returns the content of its
// file. The name is for people.
func NewNetwork(name string) ([]byte, error) {
	file, err := security.GenerateNetworkFile(name, overlay.NewRealRand().Stream("network"))
	if err != nil {
		return nil, err
	}
	return file.Encode(), nil
}

// Listen says where to listen: as "host:port" or multiaddrs. Default: a free TCP
// port on every interface.
func Listen(addrs ...string) JoinOption {
	return func(j *joining) { j.cfg.Listen = addrs }
}

// Advertise sets the addresses at which others reach this node, if it does not listen
// on them: behind NAT, or in a container.
func Advertise(addrs ...string) JoinOption {
	return func(j *joining) { j.cfg.Advertise = addrs }
}

// Seeds are addresses of other nodes, as "host:port" or multiaddrs. The node
// finds the network through them. On one local network they are not needed. See
// arke.Conn.Addrs.
func Seeds(addrs ...string) JoinOption {
	return func(j *joining) { j.cfg.Seeds = append(j.cfg.Seeds, addrs...) }
}

// NoMDNS turns off the search for nodes on the local network.
func NoMDNS() JoinOption {
	return func(j *joining) { j.cfg.NoMDNS = true }
}

// DataDir keeps the node's key and the peers it knew in a directory. After a restart
// the node is the same peer and finds the network again. Default: nothing is kept.
func DataDir(path string) JoinOption {
	return func(j *joining) { j.cfg.DataDir = path }
}

// Name is what people call this node, in the logs and the status of others. At most
// 64 bytes. Default: none.
func Name(name string) JoinOption {
	return func(j *joining) { j.cfg.Name = name }
}

// Certificate is what the node shows in an issued network: the name of a file that
// `arke authority sign` has made for the key in DataDir. Where the network requires one,
// other nodes refuse a node without.
func Certificate(path string) JoinOption {
	return func(j *joining) {
		signed, err := security.ReadCertificateFile(path)
		j.fail(err)
		j.cfg.Certificate = signed
	}
}

// Zone says where the node runs. Members in the caller's zone come first. At
// most 64 bytes. Default: none.
func Zone(name string) JoinOption {
	return func(j *joining) { j.cfg.Zone = name }
}

// ClusterKeyFile names a file with keys of one cluster. The command `arke keygen
// --cluster NAME` makes one. Only who holds it can serve the cluster, call it, or read
// what is sent to it. Without it a cluster's key is derived from the network's. The
// option may be repeated, with a file for each cluster. A file of the cluster
// "topic:NAME" has the keys of all topics whose first word is NAME.
func ClusterKeyFile(path string) JoinOption {
	return func(j *joining) {
		file, err := security.ReadClusterFile(path)
		j.addKeys(file, err)
	}
}

// ClusterKeyText is the content of a file for ClusterKeyFile, for programs that keep
// it elsewhere.
func ClusterKeyText(content []byte) JoinOption {
	return func(j *joining) {
		file, err := security.ParseClusterFile(content)
		j.addKeys(file, err)
	}
}

func (j *joining) addKeys(file security.ClusterFile, err error) {
	if _, twice := j.cfg.ClusterKeys[file.Name]; err == nil && twice {
		err = fmt.Errorf("node: keys of cluster %q are there twice: give one file for each cluster", file.Name)
	}
	if err != nil {
		j.fail(err)
		return
	}
	if j.cfg.ClusterKeys == nil {
		j.cfg.ClusterKeys = map[string][]security.KeyVersion{}
	}
	j.cfg.ClusterKeys[file.Name] = file.Keys
}

// NewClusterKeys makes a random key for a cluster and returns the content of its file.
func NewClusterKeys(cluster string) ([]byte, error) {
	file, err := security.GenerateClusterFile(cluster, overlay.NewRealRand().Stream("cluster"))
	if err != nil {
		return nil, err
	}
	return file.Encode(), nil
}

// SealAlways encrypts what is sent to clusters end to end also where the key is
// derived from the network's, and refuses what is not. Links are encrypted in any
// case. All nodes of a network should agree on it.
func SealAlways() JoinOption {
	return func(j *joining) { j.cfg.SealAlways() }
}

// LogTo sets the logger. Default: nothing is logged.
func LogTo(l *slog.Logger) JoinOption {
	return func(j *joining) { j.logger = l }
}

// Join makes the program a node of the network and returns when the node runs. From
// then on the node looks for others. It works alone until it finds some. ctx bounds
// only Join itself.
func Join(ctx context.Context, opts ...JoinOption) (*arke.Conn, error) {
	var j joining
	for _, o := range opts {
		o(&j)
	}
	switch {
	case j.err != nil:
		return nil, j.err
	case len(j.cfg.Network.Keys) == 0:
		return nil, errors.New("node: Join needs a network: NetworkFile names its file, `arke keygen` makes one")
	}
	j.cfg.Logger = zapslog.New(j.logger)
	n, err := inner.New(j.cfg)
	if err != nil {
		return nil, err
	}
	if err := n.Start(ctx); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	if j.rotation != nil {
		j.rotation.node.Store(n)
	}
	if j.collector != nil {
		j.collector.node.Store(scrape.NewNode(n))
	}
	var addrs []string
	for _, a := range n.Addrs() {
		addrs = append(addrs, a+"/p2p/"+n.Self().String())
	}
	return arke.Attach(ctx, joined{Joined: door.Joined{Messenger: n, Addrs: addrs}})
}

// joined makes arke.Attach return a Conn on a node.
type joined struct {
	arke.AttachOption
	door.Joined
}
