// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package harness

import (
	"errors"
	"io"
)

var errNoNamespaces = errors.New("network namespaces are Linux's")

func openWide(string, string) (io.ReadWriteCloser, error) { return nil, errNoNamespaces }

func inNamespace(string, func() error) error { return errNoNamespaces }
