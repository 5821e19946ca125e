package bench

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
)

// raw passes messages as bytes, so that callers cost the same whatever they call.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                       { return "proto" }

func invoke(ctx context.Context, c *grpc.ClientConn, method string, msg []byte) (out []byte, err error) {
	err = c.Invoke(ctx, method, msg, &out, grpc.ForceCodec(raw{}))
	return out, err
}

func text(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

func number(b []byte, field protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(v))
}

func nested(b []byte, field protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// eachField calls f with the fields of a message: of a number its value, else its bytes.
func eachField(msg []byte, f func(field protowire.Number, n uint64, b []byte) error) error {
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return protowire.ParseError(n)
		}
		msg = msg[n:]
		var value uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(msg)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(msg)
		default:
			n = protowire.ConsumeFieldValue(field, kind, msg)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		msg = msg[n:]
		if err := f(field, value, bytes); err != nil {
			return err
		}
	}
	return nil
}

var errDenied = errors.New("denied, or not decided")

// drosselCheck is a drossel.v1.CheckRequest.
func drosselCheck(key string) []byte { return text(text(nil, 1, policyName), 2, key) }

// drosselAllows reads a drossel.v1.Decision.
func drosselAllows(msg []byte) error {
	allowed := false
	err := eachField(msg, func(field protowire.Number, n uint64, b []byte) error {
		switch field {
		case 1:
			allowed = n == 1
		case 10:
			if n == 1 {
				return fmt.Errorf("%w: by a failure rule", errDenied)
			}
		}
		return nil
	})
	if err == nil && !allowed {
		err = errDenied
	}
	return err
}

// drosselBatch is a drossel.v1.CheckBatchRequest.
func drosselBatch(keys []string) (b []byte) {
	for _, key := range keys {
		b = nested(b, 1, drosselCheck(key))
	}
	return b
}

// drosselAllowsAll reads a drossel.v1.CheckBatchResponse.
func drosselAllowsAll(msg []byte, want int) error {
	got := 0
	err := eachField(msg, func(field protowire.Number, _ uint64, result []byte) error {
		got++
		return eachField(result, func(field protowire.Number, _ uint64, decision []byte) error {
			if field != 1 {
				return fmt.Errorf("%w: an item has an error", errDenied)
			}
			return drosselAllows(decision)
		})
	})
	if err == nil && got != want {
		err = fmt.Errorf("%d answers, want %d", got, want)
	}
	return err
}

// gubernatorItem is a pb.gubernator.RateLimitReq: a token bucket of an hour.
func gubernatorItem(key string) []byte {
	b := text(text(nil, 1, policyName), 2, key)
	return number(number(number(b, 3, 1), 4, ample.Burst), 5, 3_600_000)
}

// gubernatorBatch is a pb.gubernator.GetRateLimitsReq.
func gubernatorBatch(keys []string) (b []byte) {
	for _, key := range keys {
		b = nested(b, 1, gubernatorItem(key))
	}
	return b
}

// gubernatorAllowsAll reads a pb.gubernator.GetRateLimitsResp.
func gubernatorAllowsAll(msg []byte, want int) error {
	got := 0
	err := eachField(msg, func(_ protowire.Number, _ uint64, item []byte) error {
		got++
		return eachField(item, func(field protowire.Number, n uint64, b []byte) error {
			if field == 1 && n != 0 || field == 5 && len(b) > 0 {
				return fmt.Errorf("%w: status %d %s", errDenied, n, b)
			}
			return nil
		})
	})
	if err == nil && got != want {
		err = fmt.Errorf("%d answers, want %d", got, want)
	}
	return err
}

// envoyRequest is an envoy.service.ratelimit.v3.RateLimitRequest of one descriptor.
func envoyRequest(key string) []byte {
	entry := text(text(nil, 1, "user"), 2, key)
	return nested(text(nil, 1, policyName), 2, nested(nil, 1, entry))
}

// envoyAllows reads an envoy.service.ratelimit.v3.RateLimitResponse.
func envoyAllows(msg []byte) error {
	code, limited := uint64(0), false
	err := eachField(msg, func(field protowire.Number, n uint64, b []byte) error {
		switch field {
		case 1:
			code = n
		case 2:
			return eachField(b, func(field protowire.Number, _ uint64, _ []byte) error {
				limited = limited || field == 2
				return nil
			})
		}
		return nil
	})
	if err == nil && (code != 1 || !limited) {
		err = fmt.Errorf("%w: code %d, by a limit: %t", errDenied, code, limited)
	}
	return err
}
