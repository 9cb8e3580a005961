// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

const (
	certName = "bench"
	certFile = "cert.pem"
	keyFile  = "key.pem"
)

// writeCertificate makes a self-signed certificate for certName.
func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: certName}, DNSNames: []string{certName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, certFile), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
}

func port(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}

// Program finds a program that `make deps` has built in bin, or an installed
// one.
func Program(name string) (string, error) {
	if path, err := filepath.Abs(filepath.Join("bin", name)); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return exec.LookPath(name)
}

// programMissing says whether a program is not there.
func programMissing(name string) func() error {
	return func() error {
		if _, err := Program(name); err != nil {
			return errors.New(name + " is not installed: make deps")
		}
		return nil
	}
}

// programField asks a program for its version: what follows prefix.
func programField(name, prefix string, flags ...string) func() string {
	return func() string {
		for _, word := range strings.Fields(ask(name, flags)) {
			if version, ok := strings.CutPrefix(word, prefix); ok {
				return version
			}
		}
		return ""
	}
}

// packageVersion is that of one of Debian's packages.
func packageVersion(name string) string {
	return strings.TrimSpace(ask("dpkg-query", []string{"-W", "-f", "${Version}", name}))
}

// ask returns what a program prints; "" if it fails.
func ask(name string, flags []string) string {
	path, err := Program(name)
	if err != nil {
		return ""
	}
	out, err := exec.Command(path, flags...).CombinedOutput()
	if err != nil {
		return ""
	}
	return string(out)
}

// programVersion asks a program for its version: the last word of the first
// line.
func programVersion(name string, flags ...string) func() string {
	return func() string {
		line, _, _ := strings.Cut(strings.TrimSpace(ask(name, flags)), "\n")
		words := strings.Fields(line)
		if len(words) == 0 {
			return ""
		}
		return strings.TrimPrefix(words[len(words)-1], "v")
	}
}

// moduleVersion is the version of a module that this program was built with.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return ""
}
