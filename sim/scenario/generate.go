// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import "errors"

func (s Scenario) generate() (Scenario, error) { return s, errors.New("not yet") }
