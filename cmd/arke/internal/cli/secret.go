// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/arke-mesh/arke/security"
)

// readToken returns a token: the file's, without the end of its line, or, if no file is
// named, that of the environment. It is never an argument, because ps shows those to
// every user of the machine.
func readToken(file, env string) (string, error) {
	if file == "" {
		return env, nil
	}
	text, err := security.ReadSecretFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no token file %s", file)
	case err != nil:
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimRight(string(text), "\r\n")
	if token == "" {
		return "", fmt.Errorf("the token file %s is empty", file)
	}
	return token, nil
}
