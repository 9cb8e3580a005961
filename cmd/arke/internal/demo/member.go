// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cmd/arke/internal/zones"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// ServeMember is a member process of the demo: it serves the cluster through
// the relay at socket until ctx ends, then drains.
func ServeMember(ctx context.Context, name, socket string, stdout io.Writer, log *zap.Logger) error {
	c, err := client.New(client.Config{Socket: socket, Name: name, Logger: log})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		return err
	}
	if _, err := c.Serve(ctx, cluster, &zones.Service{Name: name}, patterns.Limits{}); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "arke demo member ready")
	<-ctx.Done()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return c.Shutdown(drain)
}
