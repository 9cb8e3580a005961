// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/internal/admin"
)

// adminFlags say where the admin address is.
type adminFlags struct {
	address string
	token   string // the file with it
}

// declare adds the flags.
func (flags *adminFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&flags.address, "admin", "", "serve metrics, health, status and profiles at this `ADDR`: :PORT on loopback, HOST:PORT, or unix:PATH")
	f.StringVar(&flags.token, "admin-token-file", "", "the `FILE` with the bearer token of --admin, at least 16 bytes; required if that is not loopback")
}

// config is what they ask for; its Address is empty if that is nothing.
func (flags *adminFlags) config() (admin.Config, error) {
	c := admin.Config{Address: flags.address}
	if c.Address == "" {
		return c, nil
	}
	if strings.HasPrefix(c.Address, ":") {
		c.Address = "127.0.0.1" + c.Address // who wants others to reach it says 0.0.0.0
	}
	var err error
	if c.Token, err = readToken(flags.token, ""); err != nil {
		return c, err
	}
	if err := c.Check(); err != nil {
		return c, fmt.Errorf("--admin: %w", err)
	}
	return c, nil
}

// serve serves the admin address, if there is one, until the returned function is
// called; show says what is to be seen there.
func (flags *adminFlags) serve(show func(*admin.Config)) (address string, stop func(), err error) {
	c, err := flags.config()
	if err != nil || c.Address == "" {
		return "", func() {}, err
	}
	show(&c)
	s, err := admin.Start(c)
	if err != nil {
		return "", nil, err
	}
	return s.Addr(), func() { _ = s.Close() }, nil // it ends with the process in any case
}
