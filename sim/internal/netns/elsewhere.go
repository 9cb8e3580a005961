// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netns

import (
	"errors"
	"io"
	"os/exec"
	"time"
)

// errLinux is why nothing of this package works here.
var errLinux = errors.New("netns: level net needs Linux")

// ground is never made.
type ground struct{ tun io.ReadWriteCloser }

func newGround(address, address) (*ground, error) { return nil, errLinux }
func (g *ground) run(func() error) error          { return errLinux }
func (g *ground) close()                          {}

func tie(*exec.Cmd) {}

func (p *process) pause(bool) error { return errLinux }

// alarm is never made.
type alarm struct{}

func newAlarm() (*alarm, error)     { return nil, errLinux }
func (a *alarm) tune()              {}
func (a *alarm) wait(time.Duration) {}
func (a *alarm) ring()              {}
func (a *alarm) close()             {}
