// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// folderPrefix begins the names of the temporary folders; the process id
// follows.
const folderPrefix = "arke-net-"

// newFolder makes a temporary folder of this process, and removes those of
// processes that are gone. Its path is short: those of sockets in it must have
// less than about a hundred bytes.
func newFolder() (string, error) {
	sweep(os.TempDir())
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", folderPrefix, os.Getpid()))
}

// sweep removes what runs left behind that did not come to their end.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, folderPrefix+"*"))
	for _, path := range left {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), folderPrefix), "-")
		if pid, err := strconv.Atoi(text); err == nil && !running(pid) {
			_ = os.RemoveAll(path)
		}
	}
}

// running says whether there may be a process with that id.
func running(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil || !os.IsNotExist(err)
}
