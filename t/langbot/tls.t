#!/bin/sh
# LangBot's client over wss:// to boxd with a certificate of its own.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
command -v openssl >/dev/null || plan skip_all "no openssl to make a certificate"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
	-addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout "$D/key.pem" -out "$D/cert.pem" 2>"$D/openssl" ||
	plan skip_all "openssl makes no certificate: $(tail -n 1 "$D/openssl")"
export BOX_TLS=1 SSL_CERT_FILE="$D/cert.pem" # the second is for Python, which shall trust no other
langbot_all tls "tls_certificate = $D/cert.pem" "tls_key = $D/key.pem"
done_testing
