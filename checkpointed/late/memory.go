package late

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/state"
)

// The object that holds the memory is "rrlm", a version byte, three zero bytes, the number of hashes (8 bytes), the
// hashes (8 bytes each, none zero), and CRC-32C of all that (4 bytes). All integers are big-endian. Version 1 has the
// hashes in ascending order, and version 2 in any, and may have one twice.
const (
	memoryMagic     = "rrlm"
	memoryVersion   = 2
	memoryAscending = 1 // what older builds wrote
	memoryHeader    = len(memoryMagic) + 1 + 3 + 8
	memorySum       = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errMemory reports an object that is not a memory as encodeMemory writes it.
var errMemory = errors.New("the memory of delivered rows is damaged")

// encodeMemory writes hashes as an object: 8 MB for a million.
func encodeMemory(hashes []uint64) []byte {
	b := make([]byte, 0, memoryHeader+8*len(hashes)+memorySum)
	b = append(b, memoryMagic...)
	b = append(b, memoryVersion, 0, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(len(hashes)))
	for _, h := range hashes {
		b = binary.BigEndian.AppendUint64(b, h)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// RememberBelow is what a document begins with where rows below its frontier count as delivered, and the object of
// their memory.
func RememberBelow(frontier change.Cursor, ids []string) (state.Late, []byte) {
	set := newHashSet()
	for _, id := range ids {
		set.add(memoryHash(id), 0)
	}
	late := state.Late{Mode: string(Overlap), Frontier: frontier}
	late.Memory.Count = set.len()
	return late, encodeMemory(set.hashes())
}

// decodeMemory reads what encodeMemory wrote, and nothing else. Errors wrap errMemory. The stamps are zero.
func decodeMemory(data []byte) (*hashSet, error) {
	if len(data) < memoryHeader+memorySum || string(data[:len(memoryMagic)]) != memoryMagic {
		return nil, fmt.Errorf("%w: no such header", errMemory)
	}
	if data[4] != memoryAscending && data[4] != memoryVersion || data[5] != 0 || data[6] != 0 || data[7] != 0 {
		return nil, fmt.Errorf("%w: version %d is not known to this binary", errMemory, data[4])
	}
	body, sum := data[:len(data)-memorySum], data[len(data)-memorySum:]
	count := binary.BigEndian.Uint64(data[8:memoryHeader])
	hashes := body[memoryHeader:]
	if len(hashes)%8 != 0 || uint64(len(hashes)/8) != count {
		return nil, fmt.Errorf("%w: %d bytes for %d hashes", errMemory, len(hashes), count)
	}
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(sum) {
		return nil, fmt.Errorf("%w: the checksum does not match", errMemory)
	}
	s := newHashSet()
	for ; len(hashes) > 0; hashes = hashes[8:] {
		h := binary.BigEndian.Uint64(hashes)
		if h == 0 {
			return nil, fmt.Errorf("%w: a hash is zero", errMemory)
		}
		s.add(h, 0)
	}
	s.settle()
	return s, nil
}

// memoryHash is what is remembered of an event: the first 64 bits of its ID, which is a hash of key, cursor and row
// (see change.EventID); of any other ID the first 64 bits of its SHA-256. It is never 0.
func memoryHash(id string) uint64 {
	var first [16]byte
	copy(first[:], id)
	var h [8]byte
	if _, err := hex.Decode(h[:], first[:]); err != nil {
		sum := sha256.Sum256([]byte(id))
		copy(h[:], sum[:])
	}
	return max(binary.BigEndian.Uint64(h[:]), 1)
}

// Load reads a side object by its name: Keeper.Object.
type Load func(ctx context.Context, name string) ([]byte, error)

// loadMemory reads an object that holds hashes.
func loadMemory(ctx context.Context, name string, load Load) (*hashSet, error) {
	data, err := load(ctx, name)
	if err != nil {
		return nil, err
	}
	return decodeMemory(data)
}
