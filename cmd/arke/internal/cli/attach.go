// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"time"

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

// attachLogging connects a command that stays until a signal, which therefore
// logs: at the level of its flag. The caller closes the client.
func (a App) attachLogging(cmd *cobra.Command, t *attachment, level string) (*client.Client, *zap.Logger, error) {
	log, err := a.logger(level)
	if err != nil {
		return nil, nil, misuse(cmd, err)
	}
	c, err := t.attach(cmd.Context(), log)
	return c, log, err
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

// attachTime is how long a command that makes one call waits for a relay that may
// just be starting.
const attachTime = time.Second

// within attaches, does what is to be done, and detaches, all of it within the
// time-out.
func (t *attachment) within(ctx context.Context, timeout time.Duration, do func(context.Context, *client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	attaching, attached := context.WithTimeout(ctx, attachTime)
	c, err := t.attach(attaching, nil)
	attached()
	if err != nil {
		return err
	}
	defer c.Close()
	return do(ctx, c)
}
