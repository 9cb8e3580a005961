// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/security"
)

// defaultOverlap is how long an old key is valid beside a new one: time to bring the
// file to every machine.
const defaultOverlap = 24 * time.Hour

// keyFlags say which file of keys a command is about.
type keyFlags struct{ file, cluster string }

func (k *keyFlags) declare(cmd *cobra.Command, withCluster bool) {
	cmd.Flags().StringVar(&k.file, "key-file", "", "the file with the keys")
	_ = cmd.MarkFlagRequired("key-file")
	if withCluster {
		cmd.Flags().StringVar(&k.cluster, "cluster", "", "the file is that of this cluster (default: of a network)")
	}
}

// keys reads the file: what it is of, and its keys.
func (k *keyFlags) keys() (of string, keys []security.KeyVersion, bans []peer.ID, err error) {
	if k.cluster == "" {
		f, err := security.ReadNetworkFile(k.file)
		return f.ID.String(), f.Keys, f.Bans, k.otherKind(err)
	}
	f, err := security.ReadClusterFile(k.file)
	if err == nil {
		err = k.check(&f)
	}
	return f.Name, f.Keys, nil, err
}

// otherKind says what to do if the file could not be read as a network's because it is a
// cluster's.
func (k *keyFlags) otherKind(err error) error {
	if !errors.Is(err, security.ErrBadFile) {
		return err
	}
	f, other := security.ReadClusterFile(k.file)
	if other != nil {
		return err
	}
	return fmt.Errorf("%s is the file of cluster %q: say so with --cluster %s", k.file, f.Name, f.Name)
}

func (k *keyFlags) check(f *security.ClusterFile) error {
	if f.Name != k.cluster {
		return fmt.Errorf("%s is the file of cluster %q, not of %q", k.file, f.Name, k.cluster)
	}
	return nil
}

// edit has the keys of the file changed.
func (k *keyFlags) edit(change func([]security.KeyVersion) ([]security.KeyVersion, error)) error {
	if k.cluster == "" {
		return k.otherKind(security.EditNetworkFile(k.file, func(f *security.NetworkFile) (err error) {
			f.Keys, err = change(f.Keys)
			return err
		}))
	}
	return security.EditClusterFile(k.file, func(f *security.ClusterFile) (err error) {
		if err = k.check(f); err == nil {
			f.Keys, err = change(f.Keys)
		}
		return err
	})
}

func keyCommand(a App) *cobra.Command {
	return group(&cobra.Command{
		Use:   "key",
		Short: "Change the keys of a network or a cluster, and ban peers",
		Long: `Change the file with the keys of a network or a cluster.

Bring the changed file to every machine that has the old one, and send SIGHUP
to the relays there, which read it again. Nothing that is under way is lost as
long as all have it before the overlap is over.`,
		Example: "  arke key rotate --key-file home.key",
	}, keyRotateCommand(a), keyListCommand(a), keyBanCommand(a))
}

func keyRotateCommand(a App) *cobra.Command {
	var k keyFlags
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Add a new key to a file, and give the old ones an end",
		Long: `Add a new random key, valid from now on, to a file of keys, and let the old
ones expire after the overlap. The file is replaced at once and keeps its mode.

With --overlap 0 the old keys are removed: nodes with the new file and nodes
without it no longer talk. That excludes at once every holder of only the old
file, and interrupts traffic until all nodes have the new one.`,
		Example: `  arke key rotate --key-file home.key
  arke key rotate --key-file vault.key --cluster vault --overlap 1h`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if overlap < 0 {
				return misuse(cmd, errors.New("--overlap must not be negative"))
			}
			var fresh security.KeyVersion
			err := k.edit(func(keys []security.KeyVersion) ([]security.KeyVersion, error) {
				keys, err := security.RotateKeys(keys, time.Now(), overlap, rand.Reader)
				if err == nil {
					fresh = keys[len(keys)-1]
				}
				return keys, err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: key version %d; copy the file to every machine that has the old one, and send their relays SIGHUP\n", k.file, fresh.Version)
			return err
		},
	}
	k.declare(cmd, true)
	cmd.Flags().DurationVar(&overlap, "overlap", defaultOverlap, "how long the old keys stay valid; 0 = they are taken out")
	return cmd
}

func keyListCommand(a App) *cobra.Command {
	var k keyFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the keys of a file: versions, ids and times, and bans",
		Long:    "List the keys of a file: versions, ids and times, and bans. No key is shown.",
		Example: "  arke key list --key-file home.key",
		RunE: func(*cobra.Command, []string) error {
			of, keys, bans, err := k.keys()
			if err != nil {
				return err
			}
			return listKeys(a, of, keys, bans)
		},
	}
	k.declare(cmd, true)
	return cmd
}

func listKeys(a App, of string, keys []security.KeyVersion, bans []peer.ID) error {
	now := security.ValidityOf(keys, time.Now())
	t := newTable(a.Stdout)
	t.row("VERSION", "ID", "NOT BEFORE", "NOT AFTER", "NOW")
	for i, k := range keys {
		state := "not accepted"
		switch {
		case now.Seals == i && now.Lapsed:
			state = "ended; used all the same, for the clock may be wrong"
		case now.Seals == i:
			state = "seals"
		case slices.Contains(now.Accepted, i):
			state = "accepted"
		}
		id := security.NewCluster(of, []security.KeyVersion{k}).KeyID()
		t.row(k.Version, id, bound(k.NotBefore), bound(k.NotAfter), state)
	}
	for _, p := range bans {
		t.row("ban", p)
	}
	return t.flush()
}

func bound(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.RFC3339)
}

func keyBanCommand(a App) *cobra.Command {
	var k keyFlags
	var lift bool
	cmd := &cobra.Command{
		Use:   "ban PEERID",
		Short: "Ban a peer from the network, or lift a ban",
		Long: `Add a ban to a network's file. A relay that reads the file again, by SIGHUP,
tells all nodes: they end their links to the peer, drop its leases and refuse
it, within seconds.

A holder of the file can return under another peer id: only 'arke key rotate'
excludes it for good.`,
		Example: `  arke key ban --key-file home.key 12D3KooWGj6zC9DmgShoCzcYmUGGTuCcEQvE2UaCpvK4cPnAmnTz
  arke key ban --lift --key-file home.key 12D3KooWGj6zC9DmgShoCzcYmUGGTuCcEQvE2UaCpvK4cPnAmnTz`,
		Args: positional(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := peer.Decode(args[0])
			if err == nil {
				err = security.CheckPeerID(p)
			}
			if err != nil {
				return misuse(cmd, fmt.Errorf("%q is no peer id: 'arke status' shows those of nodes", args[0]))
			}
			err = security.EditNetworkFile(k.file, func(f *security.NetworkFile) error {
				switch banned := f.Banned(p); {
				case banned && lift:
					f.Bans = slices.DeleteFunc(f.Bans, func(each peer.ID) bool { return each == p })
				case !banned && !lift:
					f.Bans = append(f.Bans, p)
				case lift:
					return fmt.Errorf("%s is not banned in %s", p, k.file)
				}
				return nil
			})
			if err != nil {
				return err
			}
			said := "is banned"
			if lift {
				said = "is banned no longer"
			}
			_, err = fmt.Fprintf(a.Stdout, "%s: %s %s; send SIGHUP to a relay with this file\n", k.file, p, said)
			return err
		},
	}
	k.declare(cmd, false)
	cmd.Flags().BoolVar(&lift, "lift", false, "take the ban back")
	return cmd
}
