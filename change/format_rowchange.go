package change

import "strconv"

// appendRowChange writes one RowChange with azure-functions-db's member names. There, cursor is a scalar or a tuple of
// scalars; here it is the position's JSON as one text, equal in every format, so that its
// {poller_name}:{pk_hash}:{cursor} can be built without knowing the kinds of cursors. before is null where the source
// does not tell the row that was; after is null for a delete, because then there is no row after the change.
func appendRowChange(dst []byte, d *Delivery, e *Event, message bool) []byte {
	dst = append(dst, `{"event_id":`...)
	dst = AppendString(dst, e.ID)
	dst = append(dst, `,"op":"`...)
	dst = append(dst, e.Op.String()...)
	dst = append(dst, `","source":{"name":`...)
	dst = AppendString(dst, d.Table)
	dst = append(dst, `,"kind":`...)
	dst = AppendString(dst, d.Engine)
	dst = append(dst, `,"fingerprint":`...)
	dst = AppendString(dst, d.Fingerprint)
	dst = append(dst, `},"cursor":`...)
	dst = appendCursor(dst, e.Cursor)
	dst = append(dst, `,"pk":`...)
	dst = appendRaw(dst, e.Key)
	dst = append(dst, `,"before":`...)
	dst = appendRaw(dst, e.Before)
	dst = append(dst, `,"after":`...)
	dst = appendAfter(dst, e)
	dst = append(dst, `,"metadata":{"poller":`...)
	dst = AppendString(dst, d.Poller)
	if message {
		dst = append(dst, `,"batch_id":`...)
		dst = AppendString(dst, d.BatchID)
		// Token and delivery number are text as in cloudevents: a uint64 is not safe as a number in every language.
		dst = append(dst, `,"fencing_token":"`...)
		dst = strconv.AppendUint(dst, d.Token, 10)
		dst = append(dst, `","delivery":"`...)
		dst = strconv.AppendUint(dst, d.Number, 10)
		dst = append(dst, `","attempt":`...)
		dst = strconv.AppendInt(dst, int64(d.Attempt), 10)
	}
	dst = append(dst, `,"key_hash":"`...)
	dst = append(appendKeyHash(dst, e), '"')
	if e.Written != nil {
		dst = e.Written.appendMembers(dst)
	}
	return append(dst, `}}`...)
}
