// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hide removes variables from /proc/PID/environ, which other processes of the same user
// can read, commands of serve --exec among them. Where that fails the process becomes
// not dumpable, which hides the file, but also the process's open descriptors from its
// own metrics.
func hide(names ...string) {
	if err := wipe(names); err != nil {
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // fails for wrong arguments only
	}
}

// wipe overwrites the values in the memory from which the kernel serves that file: the
// environment that the process was started with, between env_start and env_end of
// proc_pid_stat(5). Go has copied it.
func wipe(names []string) error {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	// Behind the name, in parentheses, the first field is the third of the page's list.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const start, end = 50 - 3, 51 - 3
	if len(fields) <= end {
		return fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	from, err := strconv.ParseInt(string(fields[start]), 10, 64)
	if err != nil {
		return err
	}
	to, err := strconv.ParseInt(string(fields[end]), 10, 64)
	if err != nil {
		return err
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close()
	environ := make([]byte, max(0, to-from))
	if _, err := memory.ReadAt(environ, from); err != nil {
		return err
	}
	at := from
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		for _, name := range names {
			if value, is := bytes.CutPrefix(variable, []byte(name+"=")); is {
				if _, err := memory.WriteAt(make([]byte, len(value)), at+int64(len(variable)-len(value))); err != nil {
					return err
				}
			}
		}
		at += int64(len(variable)) + 1
	}
	return nil
}
