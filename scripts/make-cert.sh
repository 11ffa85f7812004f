#!/bin/sh
# Makes a certificate of one's own for the service, for the names and addresses of this computer: make-cert.sh [FOLDER]
# What is there already is kept, unless --force. Further names or addresses: BENCHD_CERT_NAMES="bench.lab 10.1.2.3",
# parted by spaces or commas.
set -eu

force=
folder=/etc/benchd/tls
for word in "$@"; do
  case "$word" in
    --force) force=yes ;;
    -*) echo "usage: make-cert.sh [--force] [FOLDER]" >&2; exit 2 ;;
    *) folder=$word ;;
  esac
done
# The service looks from where it runs, not from here.
case "$folder" in /*) ;; *) folder=$PWD/${folder#./} ;; esac
cert=$folder/cert.pem
key=$folder/key.pem
if [ -z "$force" ] && { [ -e "$cert" ] || [ -e "$key" ]; }; then
  echo "make-cert.sh: $folder holds a certificate; to put another in its place: make-cert.sh --force $folder" >&2
  exit 1
fi
command -v openssl >/dev/null || { echo "make-cert.sh: openssl is missing; install it: sudo apt install openssl" >&2; exit 1; }

name=$(hostname)
sans=DNS:$name,DNS:$name.local,DNS:localhost,IP:127.0.0.1,IP:::1
# Those of the network, but not the ones that begin with fe80: they want a zone, which no certificate can name.
for address in $(hostname -I 2>/dev/null || true); do
  case "$address" in fe80:*) ;; *) sans=$sans,IP:$address ;; esac
done
set -f
for more in $(printf '%s' "${BENCHD_CERT_NAMES:-}" | tr ',' ' '); do
  case "$more" in
    *[!0-9A-Za-z.:*_-]* | -* | .*) echo "make-cert.sh: $more in BENCHD_CERT_NAMES is neither a name nor an address" >&2; exit 2 ;;
    *:*)
      case "$more" in
        *[!0-9A-Fa-f:.]*) echo "make-cert.sh: $more in BENCHD_CERT_NAMES is neither a name nor an address" >&2; exit 2 ;;
      esac
      sans=$sans,IP:$more ;;
    *[!0-9.]*) sans=$sans,DNS:$more ;;
    *) sans=$sans,IP:$more ;;
  esac
done
set +f

is_new=
[ -d "$folder" ] || is_new=yes
mkdir -p "$(dirname "$folder")"
umask 077
mkdir -p "$folder"
# What did not come about leaves nothing behind.
trap 'rm -f "$key.new" "$cert.new"; [ -z "$is_new" ] || rmdir "$folder" 2>/dev/null || true' EXIT
# P-256: every client knows it, and a small board signs with it a thousand times a second.
if ! said=$(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 -days 825 -subj "/CN=$(printf '%.64s' "$name")" \
  -addext "subjectAltName=$sans" -addext "basicConstraints=critical,CA:FALSE" -addext "keyUsage=critical,digitalSignature" \
  -addext "extendedKeyUsage=serverAuth" -keyout "$key.new" -out "$cert.new" 2>&1); then
  echo "make-cert.sh: openssl made no certificate for $sans:" >&2
  echo "$said" >&2
  exit 1
fi
mv "$key.new" "$key"
mv "$cert.new" "$cert"
# The key is for the service alone, and the folder as tmpfiles.d has it; one that was there keeps its rights. Who wants the certificate
# is shown it by the service.
chmod 0644 "$cert"
[ -z "$is_new" ] || chmod 0750 "$folder"
if [ "$(id -u)" = 0 ] && getent group benchd >/dev/null; then
  [ -z "$is_new" ] || chgrp benchd "$folder"
  chgrp benchd "$key"
  chmod 0640 "$key"
fi

echo "made $cert for $sans"
openssl x509 -in "$cert" -noout -fingerprint -sha256
echo "put into the configuration, then: systemctl restart benchd; in the place of one that was there: benchd config reload"
echo "  \"listen\": { \"tls\": { \"cert\": \"$cert\", \"key\": \"$key\" } }"
