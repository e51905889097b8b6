package late

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rowrelay/rowrelay/change"
	"github.com/rowrelay/rowrelay/internal/quick"
)

// TestHashSet compares the table with a map.
func TestHashSet(t *testing.T) {
	quick.Skip(t)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		set, model := newHashSet(), map[uint64]uint8{}
		for range 5000 {
			h := max(rng.Uint64N(2000)<<uint(rng.IntN(3)*16), 1) // with long runs of neighbours
			switch stamp := uint8(rng.IntN(4)); rng.IntN(50) {
			case 0:
				dropped := set.keep(func(s uint8) bool { return s != stamp })
				before := len(model)
				maps.DeleteFunc(model, func(_ uint64, s uint8) bool { return s == stamp })
				if dropped != before-len(model) {
					t.Fatalf("seed %d: dropped %d, want %d", seed, dropped, before-len(model))
				}
			case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
				_, want := model[h]
				if got := set.see(h, stamp); got != want {
					t.Fatalf("seed %d: see(%d) = %t", seed, h, got)
				}
				if want {
					model[h] = stamp
				}
			case 11, 12, 13, 14, 15, 16, 17, 18, 19, 20:
				if got := set.drop(h); got != model[h] {
					t.Fatalf("seed %d: drop(%d) = %d, want %d", seed, h, got, model[h])
				}
				delete(model, h)
			default:
				set.add(h, stamp)
				model[h] = stamp
			}
			if n := set.len(); n < len(model) || n > len(model)+len(set.added) {
				t.Fatalf("seed %d: %d hashes, want %d", seed, n, len(model))
			}
		}
		set.settle()
		if got := sorted(set); set.len() != len(model) || !slices.Equal(got, slices.Sorted(maps.Keys(model))) {
			t.Fatalf("seed %d: the hashes differ", seed)
		}
	}
}

func sorted(s *hashSet) []uint64 { return slices.Sorted(slices.Values(s.hashes())) }

func memoryOf(n int) *hashSet {
	rng := rand.New(rand.NewPCG(3, 3))
	s := newHashSet()
	for s.len() < n {
		s.add(rng.Uint64()|1, 0)
	}
	return s
}

func TestMemoryRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		set := memoryOf(n)
		data := encodeMemory(set.hashes())
		got, err := decodeMemory(data)
		if err != nil || !slices.Equal(sorted(got), sorted(set)) {
			t.Errorf("%d hashes: got %d, %v", n, got.len(), err)
		}
		if want := 16 + 8*n + 4; len(data) != want {
			t.Errorf("%d hashes take %d bytes, want %d", n, len(data), want)
		}
	}
}

// TestMemoryOfAnOlderVersion: it wrote hashes in ascending order.
func TestMemoryOfAnOlderVersion(t *testing.T) {
	data, err := hex.DecodeString("72726c6d01000000" + "0000000000000002" +
		"0000000000000001" + "0000000000000007" + "00000000")
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(data[len(data)-4:], crc32.Checksum(data[:len(data)-4], castagnoli))
	if set, err := decodeMemory(data); err != nil || !slices.Equal(sorted(set), []uint64{1, 7}) {
		t.Errorf("%v, %v", set, err)
	}
}

// TestMemoryRefusesDamage: each flipped bit, and each missing or added byte, is found.
func TestMemoryRefusesDamage(t *testing.T) {
	data := encodeMemory(memoryOf(5).hashes())
	for i := range data {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << bit
			if _, err := decodeMemory(bad); !errors.Is(err, errMemory) {
				t.Errorf("bit %d of byte %d flipped: %v", bit, i, err)
			}
		}
		if _, err := decodeMemory(data[:i]); !errors.Is(err, errMemory) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := decodeMemory(append(bytes.Clone(data), 0)); !errors.Is(err, errMemory) {
		t.Errorf("with one more byte: %v", err)
	}
}

// FuzzMemory: whatever is read is written again, and nothing panics.
func FuzzMemory(f *testing.F) {
	f.Add(encodeMemory(nil))
	f.Add(encodeMemory(memoryOf(3).hashes()))
	f.Add([]byte("rrlm\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := decodeMemory(data)
		if err != nil {
			if !errors.Is(err, errMemory) {
				t.Errorf("an error of another kind: %v", err)
			}
			return
		}
		if again, err := decodeMemory(encodeMemory(set.hashes())); err != nil || !slices.Equal(sorted(again), sorted(set)) {
			t.Errorf("%x was read, and what is written then is another: %v", data, err)
		}
	})
}

// TestMemoryHash: the hash of an event's ID is its beginning.
func TestMemoryHash(t *testing.T) {
	if got := memoryHash("0123456789abcdef0000000000000000"); got != 0x0123456789abcdef {
		t.Errorf("got %x", got)
	}
	a := change.EventID("p", change.Upsert, []byte(`{"id":1}`), nil, nil)
	b := change.EventID("p", change.Upsert, []byte(`{"id":2}`), nil, nil)
	if memoryHash(a) == memoryHash(b) || memoryHash(a) != memoryHash(a[:16]+"ffff") {
		t.Error("the hash is not the beginning of the id")
	}
	if memoryHash("7") == memoryHash("8") || memoryHash("0000000000000000") != 1 {
		t.Error("other ids have hashes too, and none is 0")
	}
	if n := testing.AllocsPerRun(100, func() { memoryHash(a) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkMemoryEncode(b *testing.B) {
	set := memoryOf(1_000_000)
	b.SetBytes(8_000_000)
	for b.Loop() {
		encodeMemory(set.hashes())
	}
}

func BenchmarkMemoryDecode(b *testing.B) {
	data := encodeMemory(memoryOf(1_000_000).hashes())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := decodeMemory(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHashSet is one lookup in a million, and the bytes that each hash takes.
func BenchmarkHashSet(b *testing.B) {
	set := memoryOf(1_000_000)
	h := uint64(1)
	for b.Loop() {
		h = h*6364136223846793005 + 1442695040888963407
		set.see(h|1, 1)
	}
	b.ReportMetric(9*float64(len(set.places))/float64(set.len()), "B/hash")
}

// BenchmarkOverlapPage is what the overlap mode adds to a page of 500 new rows.
func BenchmarkOverlapPage(b *testing.B) {
	l := New(Config{Window: time.Minute, Memory: 1 << 62})
	l.mode = Overlap
	events := make([]change.Event, 500)
	n := 0
	for b.Loop() {
		for i := range events {
			n++
			events[i].ID = fmt.Sprintf("%016x", uint64(n)*0x9e3779b97f4a7c15)
		}
		l.sweep.on = true // none is due
		batch, _ := l.Fetched(Step{}, &change.Page{Events: events})
		l.Settled(&batch, len(batch.Events))
	}
}
