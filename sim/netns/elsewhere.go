// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netns

import (
	"errors"
	"os/exec"
	"time"

	"go.uber.org/zap"
)

// errLinux is why nothing of this package works here.
var errLinux = errors.New("netns: level net needs Linux")

func probeNamespaces() error { return errLinux }
func probeProxies() error    { return errLinux }

func newNamespaces(*wires, func() time.Duration, *zap.Logger) (fabric, error) { return nil, errLinux }

func newProxies(*wires, func() time.Duration, *zap.Logger) (fabric, error) { return nil, errLinux }

func tie(*exec.Cmd) {}

func (p *process) pause(bool) error { return errLinux }

// alarm is never made.
type alarm struct{}

func newAlarm() (*alarm, error)     { return nil, errLinux }
func (a *alarm) tune()              {}
func (a *alarm) wait(time.Duration) {}
func (a *alarm) ring()              {}
func (a *alarm) close()             {}
