// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package scenario is the format of experiments: parse, validate, expand,
// explain, generate. It is data about a network and knows nothing that runs.
package scenario
