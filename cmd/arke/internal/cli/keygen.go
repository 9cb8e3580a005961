// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/rand"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/arke-mesh/arke/security"
)

func (a App) keygen() *cobra.Command {
	var name, out string
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a network file: the key that admits nodes to a network",
		Long: `Make a network file with a new network id and a new random key.

Whoever holds the file can join the network, so treat it as a secret: with
--out it gets the mode 0600, and a relay refuses a looser one. Without --out
it goes to standard output.`,
		Example: `  arke keygen --network home --out home.key
  ARKE_NETWORK="$(arke keygen)" arke relay`,
		Args: positional(0, 0),
		RunE: func(*cobra.Command, []string) error { return a.runKeygen(name, out) },
	}
	cmd.Flags().StringVar(&name, "network", "arke", "the network's name, for people")
	cmd.Flags().StringVar(&out, "out", "", "file to create; it must not exist (default standard output)")
	return cmd
}

func (a App) runKeygen(name, out string) error {
	file, err := security.GenerateNetworkFile(name, rand.Reader)
	if err != nil {
		return err
	}
	if out == "" || out == "-" {
		_, err = a.Stdout.Write(file.Encode())
		return err
	}
	if err := security.WriteNetworkFile(out, file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "%s: key of the new network %s (id %s)\n", out, file.Name, file.ID)
	return err
}
