package transport

// MaxWordBytes bounds the payload of one word.
const MaxWordBytes = MaxFrameBytes - 32

// AppendWord appends to b the frame of a word: what one member says to another about who owns what, in bytes that only
// the two understand. It crosses on the stream of checks, between the other frames and not counted as one of checks;
// the side that dialed sends it, and either may. The payload is at most MaxWordBytes.
func AppendWord(b, payload []byte) []byte {
	return appendBytes(append(b, byte(typeWord)), payload)
}

// IsWord says whether a frame that came is a word. Either side may find one where another frame is due.
func IsWord(frame []byte) bool { return len(frame) > 0 && frameType(frame[0]) == typeWord }

// DecodeWord returns the payload of a word, which aliases the frame. The error wraps ErrFrame.
func DecodeWord(frame []byte) (payload []byte, err error) {
	r := open(frame, typeWord)
	payload = r.bytes(MaxWordBytes)
	return payload, r.end()
}
