package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/rowrelay/rowrelay/state"
)

// chunk is what one request reads: a document comes in one, a large side object in several, each with a timeout of its
// own.
const chunk = 8 << 20

// Load implements [state.Store].
func (s *Store) Load(ctx context.Context, key string) (state.Stored, error) {
	var loaded state.Stored
	for total := int64(1); int64(len(loaded.Data)) < total; {
		part, of, err := s.read(ctx, key, int64(len(loaded.Data)), loaded.Version)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) && s.create {
			// A container that is yet to be created holds nothing.
			return state.Stored{}, state.ErrNotFound
		}
		if bloberror.HasCode(err, bloberror.ConditionNotMet) {
			return state.Stored{}, errors.New("reading a state document: it was changed meanwhile") // worth another look
		}
		if err != nil {
			return state.Stored{}, s.explain("reading a state document", err)
		}
		total = of
		if total > state.MaxObject {
			// A foreign blob must not fill the memory.
			return state.Stored{}, &state.PermanentError{
				Err: fmt.Errorf("the blob %s is larger than anything that Rowrelay writes", key),
			}
		}
		if len(part.Data) == 0 && total > 0 {
			return state.Stored{}, errors.New("reading a state document: the storage account's answer holds nothing of it")
		}
		loaded.Data, loaded.Stamp = append(loaded.Data, part.Data...), part.Stamp
	}
	return loaded, nil
}

// read reads a chunk of a blob whose version is still version ("": whatever it is), and returns the blob's size too.
func (s *Store) read(ctx context.Context, key string, from int64, version state.Version) (state.Stored, int64, error) {
	options := &blob.DownloadStreamOptions{Range: blob.HTTPRange{Offset: from, Count: chunk}}
	if version != "" {
		tag := azcore.ETag(version)
		options.AccessConditions = &blob.AccessConditions{
			ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &tag},
		}
	}
	client := s.client.NewBlobClient(key)
	got, err := client.DownloadStream(ctx, options)
	if bloberror.HasCode(err, bloberror.InvalidRange) { // an empty blob has no first byte
		got, err = client.DownloadStream(ctx, nil)
	}
	if err != nil {
		return state.Stored{}, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(got.Body, chunk))
	if err := errors.Join(err, got.Body.Close()); err != nil {
		return state.Stored{}, 0, err
	}
	size := int64(len(data))
	if got.ContentRange != nil { // bytes 0-1023/4096
		if size, err = strconv.ParseInt((*got.ContentRange)[strings.LastIndexByte(*got.ContentRange, '/')+1:], 10,
			64); err != nil {
			return state.Stored{}, 0, fmt.Errorf("the answer's Content-Range: %w", err)
		}
	}
	stamp, err := stampOf(got.ETag, got.Date)
	return state.Stored{Data: data, Stamp: stamp}, size, err
}
