package storagequeue

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"

	"github.com/rowrelay/rowrelay/output"
	"github.com/rowrelay/rowrelay/poller"
)

// isMissing reports whether the queue does not exist.
func isMissing(err error) bool { return queueerror.HasCode(err, queueerror.QueueNotFound) }

// judge turns an error of the client into what it says about the event. Only an answer about the message itself refuses
// it: a missing queue or role says nothing about the event, which is sent again when the operator has mended it.
func (o *Output) judge(ctx context.Context, err error) output.Result {
	var answer *azcore.ResponseError
	switch {
	case errors.As(err, &answer):
		return o.judgeAnswer(answer)
	case context.Cause(ctx) != nil:
		return output.Result{Err: context.Cause(ctx)}
	}
	var inURL *url.Error
	if errors.As(err, &inURL) { // its text quotes the URL, which may hold a SAS
		err = inURL.Err
	}
	return output.Result{Err: output.Errorf(err, "%v", err)}
}

func (o *Output) judgeAnswer(answer *azcore.ResponseError) output.Result {
	r := output.Result{Cause: poller.Unavailable, Status: answer.StatusCode}
	if answer.RawResponse != nil {
		r.RetryAfter = output.RetryAfter(answer.RawResponse.Header, time.Now())
	}
	mend := ""
	switch {
	case isMissing(answer):
		mend = ": the queue does not exist; create it (az storage queue create --name " + o.name +
			"), or set state__create=true"
	case queueerror.HasCode(answer, queueerror.AuthorizationPermissionMismatch, queueerror.AuthorizationFailure,
		queueerror.InsufficientAccountPermissions):
		mend = ": give the identity the role Storage Queue Data Message Sender on the queue or the account, and look at the account's network rules"
	case answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden:
		mend = ": check what output__connection names (a rotated key, an expired SAS, a wrong clock), or the identity's role, Storage Queue Data Message Sender"
	case answer.StatusCode == http.StatusRequestEntityTooLarge ||
		queueerror.HasCode(answer, queueerror.MessageTooLarge, queueerror.RequestBodyTooLarge):
		r.Cause = poller.Impossible
	case answer.StatusCode == http.StatusBadRequest:
		r.Cause = poller.Refused
	}
	code := answer.ErrorCode
	if code == "" {
		code = http.StatusText(answer.StatusCode)
	}
	r.Err = output.Errorf(answer, "Azure Storage answered %d %s%s", answer.StatusCode, code, mend)
	return r
}
