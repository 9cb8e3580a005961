// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// OfDial says in one clause why a dial failed.
func OfDial(err error) string {
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("the name %s does not resolve: %s", name.Name, name.Err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: nobody listens there"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no way to that address"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer"
	}
	text := err.Error()
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	// What wraps an error repeats the address; the cause is what comes last.
	if parts := strings.Split(text, ": "); len(parts) > 2 {
		text = strings.Join(parts[len(parts)-2:], ": ")
	}
	return text
}
