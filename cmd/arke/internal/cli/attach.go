// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/arke-mesh/arke/relay/client"
)

// attachment holds the flags that say where the relay is.
type attachment struct {
	env     Env
	name    string // what we call ourselves in the relay's status
	socket  string
	address string
	token   string
}

// attachFlags adds the flags to cmd.
func (a App) attachFlags(cmd *cobra.Command) *attachment {
	t := &attachment{env: a.Env, name: "arke " + cmd.Name()}
	f := cmd.Flags()
	f.StringVar(&t.socket, "socket", "", "the relay's socket (default $ARKE_SOCKET, else the relay's own default)")
	f.StringVar(&t.address, "address", "", "the relay's loopback TCP address, instead of the socket")
	f.StringVar(&t.token, "token", "", "the token that goes with --address (default $ARKE_TOKEN)")
	return t
}

func (t *attachment) target() string {
	if t.address != "" {
		return t.address
	}
	return t.env.socket(t.socket)
}

// socket returns the socket's path: the flag, the environment, the default.
func (e Env) socket(flag string) string {
	switch {
	case flag != "":
		return flag
	case e.Socket != "":
		return e.Socket
	}
	return client.DefaultSocket(e.RuntimeDir)
}

// token returns what programs show at a relay's TCP address.
func (e Env) token(flag string) string {
	if flag != "" {
		return flag
	}
	return e.Token
}

// attach connects to the relay. The caller closes the client.
func (t *attachment) attach(ctx context.Context, log *zap.Logger) (*client.Client, error) {
	if t.address != "" && t.socket != "" {
		return nil, errors.New("choose one of --socket and --address")
	}
	cfg := client.Config{Name: t.name, Logger: log}
	if t.address != "" {
		cfg.Address, cfg.Token = t.address, t.env.token(t.token)
	} else {
		cfg.Socket = t.target()
	}
	c, err := client.New(cfg)
	if err == nil {
		err = c.Start(ctx)
	}
	if err != nil {
		if c != nil {
			c.Close()
		}
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, &attachError{target: t.target(), err: err}
	}
	return c, nil
}
