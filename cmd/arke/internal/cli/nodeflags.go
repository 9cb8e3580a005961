// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/nowait"
	"github.com/arke-mesh/arke/security"
)

// nodeFlags say what a node is like: that of a relay, or one of a gateway's, whose
// file has them as the keys of a section.
type nodeFlags struct {
	keyFile      string
	clusterKeys  []string
	sealAlways   bool
	listen       []string
	advertise    []string
	seeds        []string
	certificates certificateFlags
	dataDir      string
	name         string
	zone         string
	noMDNS       bool
}

func (n *nodeFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&n.keyFile, "key-file", "", "the network file, made by 'arke keygen'")
	f.StringArrayVar(&n.clusterKeys, "cluster-key-file", nil, "a `FILE` with keys of one cluster, for all programs of this relay, made by 'arke keygen --cluster'; may be repeated")
	f.BoolVar(&n.sealAlways, "seal-always", false, "encrypt end to end also for clusters without keys of their own; all relays of the network should agree")
	f.StringArrayVar(&n.listen, "listen", nil, "`MULTIADDR` to listen on, like /ip4/0.0.0.0/tcp/7400; may be repeated")
	f.StringArrayVar(&n.advertise, "advertise", nil, "`MULTIADDR` to announce to other nodes, if different from --listen; may be repeated")
	f.StringArrayVar(&n.seeds, "seed", nil, "`ADDR` of a node of the network, a multiaddr or HOST:PORT; may be repeated")
	n.certificates.declare(f)
	f.StringVar(&n.dataDir, "data-dir", "", "directory for the node's key and its remembered peers")
	f.StringVar(&n.name, "name", "", "this relay's name in the logs and the status of other nodes; at most 64 bytes (default: the host's name)")
	f.StringVar(&n.zone, "zone", "", "where this relay is; callers prefer members of their own zone")
	f.BoolVar(&n.noMDNS, "no-mdns", false, "do not look for peers on the local network")
}

// nodeConfig is what the flags say about the node, but for its certificate. Nobody's code
// runs in this process.
func (n *nodeFlags) nodeConfig(keys node.Keys) node.Config {
	cfg := node.Config{
		Network:     keys.Network,
		ClusterKeys: keys.Clusters,
		Listen:      n.listen,
		Advertise:   n.advertise,
		Seeds:       n.seeds,
		DataDir:     n.dataDir,
		Name:        n.name,
		Zone:        n.zone,
		NoMDNS:      n.noMDNS,
		Calls:       nowait.NewCalls(),
	}
	if n.sealAlways {
		cfg.SealAlways()
	}
	return cfg
}

// readNetwork reads the network file.
func (n *nodeFlags) readNetwork() (security.NetworkFile, error) {
	file, err := security.ReadNetworkFile(n.keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no network file %s: make one with 'arke keygen --out %s', or copy that of the network", n.keyFile, n.keyFile)
	}
	return file, err
}

// readClusterKeys reads the keys of clusters, by name.
func (n *nodeFlags) readClusterKeys() (map[string][]security.KeyVersion, error) {
	keys := map[string][]security.KeyVersion{}
	for _, path := range n.clusterKeys {
		file, err := security.ReadClusterFile(path)
		if err != nil {
			return nil, fmt.Errorf("--cluster-key-file: %w", err)
		}
		if keys[file.Name] != nil {
			return nil, fmt.Errorf("--cluster-key-file: %s: keys of cluster %q are there twice: give one file for each cluster", path, file.Name)
		}
		keys[file.Name] = file.Keys
	}
	return keys, nil
}
