// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/security"
)

// secretFlag says where a token is: in a file, or in the environment. It is never
// an argument, because ps shows those to every user of the machine.
type secretFlag struct{ file string }

func (s *secretFlag) declare(f *pflag.FlagSet, usage string) {
	f.StringVar(&s.file, "token-file", "", usage)
}

// read returns the token: the file's, without the end of its line, or that of the
// environment.
func (s *secretFlag) read(env string) (string, error) {
	if s.file == "" {
		return env, nil
	}
	text, err := security.ReadSecretFile(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no token file %s", s.file)
	case err != nil:
		return "", fmt.Errorf("token file: %w", err)
	}
	token := strings.TrimRight(string(text), "\r\n")
	if token == "" {
		return "", fmt.Errorf("the token file %s is empty", s.file)
	}
	return token, nil
}
