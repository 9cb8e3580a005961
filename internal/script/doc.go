// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package script reads the stories that tests play against a core: text files under
// testdata, a step and what must come of it in turn (github.com/cockroachdb/datadriven;
// go test -rewrite writes down what comes now). Only tests import it.
package script
