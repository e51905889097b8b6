package output

import (
	"crypto/tls"
	"errors"
)

// ClientCertificate reads output__client_certificate: PEM of a certificate, its chain and its private key. Its error
// quotes nothing of the text.
func ClientCertificate(pem string) (tls.Certificate, error) {
	pair, err := tls.X509KeyPair([]byte(pem), []byte(pem))
	if err != nil { // whose text could tell of the key
		return tls.Certificate{}, errors.New("output__client_certificate is not a certificate and its private key, both in PEM form")
	}
	return pair, nil
}
