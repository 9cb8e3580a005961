// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/proto"
)

// Codec turns values into bodies and back. Its methods are called concurrently.
type Codec interface {
	// ContentType is sent in the header "content-type".
	ContentType() string
	Marshal(v any) ([]byte, error)
	// Unmarshal fills v, which is a pointer. It must not keep data.
	Unmarshal(data []byte, v any) error
}

// The codecs that come with Arke.
var (
	// JSON encodes any value as encoding/json does.
	JSON Codec = jsonCodec{}
	// Protobuf encodes messages of google.golang.org/protobuf. The types of
	// requests and replies are pointers, such as *geo.Place.
	Protobuf Codec = protoCodec{}
)

// contentType is the header that names a codec.
const contentType = "content-type"

// Handle returns a Handler that decodes requests, calls f, and encodes what f
// returns. A body that can't be decoded is refused with CodeMalformed.
func Handle[Req, Resp any](codec Codec, f func(ctx context.Context, req Req) (Resp, error)) HandlerFunc {
	return func(ctx context.Context, r *Request) (Message, error) {
		req, err := decode[Req](codec, r.Body)
		if err != nil {
			return Message{}, &RemoteError{Cluster: r.Cluster, Code: CodeMalformed, Message: err.Error()}
		}
		resp, err := f(ctx, req)
		if err != nil {
			return Message{}, err
		}
		return encode(codec, resp)
	}
}

// Call encodes req, sends it to one member of the cluster, and decodes the reply.
// Errors are those of Conn.Request, and those of the codec.
func Call[Req, Resp any](ctx context.Context, c *Conn, cluster string, codec Codec, req Req, opts ...RequestOption) (Resp, error) {
	var none Resp
	m, err := encode(codec, req)
	if err != nil {
		return none, err
	}
	reply, err := c.Request(ctx, cluster, m, opts...)
	if err != nil {
		return none, err
	}
	return decode[Resp](codec, reply.Body)
}

func encode(codec Codec, v any) (Message, error) {
	body, err := codec.Marshal(v)
	if err != nil {
		return Message{}, fmt.Errorf("arke: encoding %T: %w", v, err)
	}
	return Message{Headers: Headers{{contentType, codec.ContentType()}}, Body: body}, nil
}

// decode makes what a pointer type points to.
func decode[T any](codec Codec, body []byte) (v T, err error) {
	var into any = &v
	if of := reflect.TypeFor[T](); of.Kind() == reflect.Pointer {
		made := reflect.New(of.Elem())
		v, into = made.Interface().(T), made.Interface()
	}
	if err := codec.Unmarshal(body, into); err != nil {
		return v, fmt.Errorf("arke: decoding %T: %w", v, err)
	}
	return v, nil
}

type jsonCodec struct{}

func (jsonCodec) ContentType() string                { return "application/json" }
func (jsonCodec) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (jsonCodec) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

type protoCodec struct{}

func (protoCodec) ContentType() string { return "application/protobuf" }

func (protoCodec) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", v)
	}
	return proto.Marshal(m)
}

func (protoCodec) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no protobuf message", v)
	}
	return proto.Unmarshal(data, m)
}
