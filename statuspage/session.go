package statuspage

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

// sessionLife ends a login, whatever is done in it.
const sessionLife = 8 * time.Hour

// sessions are logins. A session is a random id and an end, signed with a key made of the token: so it holds on every
// instance that has the same token, through restarts, and ends when the token is changed. Logging out is remembered by
// this process only; elsewhere the session ends with the cookie.
type sessions struct {
	key  []byte
	name string // of the cookie
	now  func() time.Time

	mu    sync.Mutex
	ended map[string]time.Time // by id, until they would have ended by themselves
}

// session is a login that is in force.
type session struct {
	id   string
	ends time.Time
	csrf string
}

func newSessions(token string, now func() time.Time) *sessions {
	key, err := hkdf.Key(sha256.New, []byte(token), nil, "rowrelay status session 1", sha256.Size)
	if err != nil { // it fails for lengths beyond 255 hashes only
		panic(err)
	}
	s := &sessions{key: key, now: now, ended: map[string]time.Time{}}
	// Cookies know no ports: two processes with different tokens on one machine must not overwrite each other's.
	s.name = "rowrelay_" + hex.EncodeToString(s.mac("cookie")[:4])
	return s
}

func (s *sessions) mac(parts ...string) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(strings.Join(parts, "\x00"))) // hash.Hash never fails
	return h.Sum(nil)
}

// begin logs in: it sets the cookie.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request) {
	id := rand.Text()
	ends := s.now().Add(sessionLife).Truncate(time.Second)
	http.SetCookie(w, s.cookie(r, s.sign(id, ends), ends))
}

func (s *sessions) sign(id string, ends time.Time) string {
	unix := binary.BigEndian.AppendUint64(nil, uint64(ends.Unix()))
	return id + "." + hex.EncodeToString(unix) + "." +
		base64.RawURLEncoding.EncodeToString(s.mac("session", id, string(unix)))
}

// of returns the session of a request, or nil.
func (s *sessions) of(r *http.Request) *session {
	cookie, err := r.Cookie(s.name)
	if err != nil {
		return nil
	}
	id, rest, _ := strings.Cut(cookie.Value, ".")
	ends, _, _ := strings.Cut(rest, ".")
	unix, err := hex.DecodeString(ends)
	if err != nil || len(unix) != 8 {
		return nil
	}
	until := time.Unix(int64(binary.BigEndian.Uint64(unix)), 0)
	if !hmac.Equal([]byte(cookie.Value), []byte(s.sign(id, until))) || !s.now().Before(until) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, gone := s.ended[id]; gone {
		return nil
	}
	return &session{id: id, ends: until, csrf: base64.RawURLEncoding.EncodeToString(s.mac("csrf", id))}
}

// owns says whether a form was made for this session.
func (s *session) owns(r *http.Request) bool {
	return hmac.Equal([]byte(r.PostFormValue("csrf")), []byte(s.csrf))
}

// end logs out.
func (s *sessions) end(w http.ResponseWriter, r *http.Request, of *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, until := range s.ended {
		if s.now().After(until) {
			delete(s.ended, id)
		}
	}
	s.ended[of.id] = of.ends
	gone := s.cookie(r, "", time.Unix(1, 0))
	gone.MaxAge = -1
	http.SetCookie(w, gone)
}

// cookie is for this host only, out of reach for scripts and for other sites, and for encrypted connections only where
// this one is. Whoever forges X-Forwarded-Proto only keeps their own cookie from being sent.
func (s *sessions) cookie(r *http.Request, value string, ends time.Time) *http.Cookie {
	return &http.Cookie{
		Name: s.name, Value: value, Path: "/", Expires: ends, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	}
}
