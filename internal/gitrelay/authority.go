package gitrelay

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// CertificateFile is where git in the sandbox finds the certificates that it trusts.
const CertificateFile = "/etc/tongs-git.pem"

// authority signs the certificates that git in the sandbox is shown. Its key is in the memory of this process only.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

const validity = 5 * 365 * 24 * time.Hour

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template, err := certificate("Tongs, for git in the sandbox")
	if err != nil {
		return nil, err
	}
	template.IsCA, template.BasicConstraintsValid, template.MaxPathLenZero = true, true, true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	own := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return &authority{cert: cert, key: key, pem: own + systemRoots(), leaves: map[string]*tls.Certificate{}}, nil
}

func certificate(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity),
	}, nil
}

// maxLeaves is how many certificates are kept; those beyond are made again when they are needed.
const maxLeaves = 256

// leaf is the certificate of a host.
func (a *authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if leaf := a.leaves[host]; leaf != nil {
		return leaf, nil
	}
	template, err := certificate("git relay")
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	leaf := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.key}
	a.leaves[host] = leaf
	return leaf, nil
}

// bundles are where systems keep the certificates that programs trust.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
}

// systemRoots are the certificates of the system. Extensions of git, such as git-lfs, trust what git is told to trust and
// nothing else, and connect by themselves.
func systemRoots() string {
	for _, name := range bundles {
		if data, err := os.ReadFile(name); err == nil {
			return string(data)
		}
	}
	return ""
}
