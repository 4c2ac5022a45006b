#!/bin/sh
# Makes what the services of compose.yaml share, once: root key, passwords, an authority of their own, certificates.
# Arguments: the names that callers use, e.g. vault.example.com. Run it as root: each file is for the user of its container.
set -eu
cd "$(dirname "$0")"
[ $# -gt 0 ] || { echo "usage: ./prepare.sh <name of the edge> ..." >&2; exit 2; }
if [ -e secrets ]; then
  echo "secrets/ exists, and holds the root key. Nothing was changed." >&2
  exit 1
fi
umask 077
rm -rf secrets.partial
mkdir -p secrets.partial backups
cd secrets.partial

random() { openssl rand -hex 24; }
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

# issue <file> <name> ...: a certificate of the authority, for these names and this machine.
issue() {
  file=$1
  names=DNS:localhost,IP:127.0.0.1
  shift
  for name in "$@"; do names="$names,DNS:$name"; done
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\n' "$names" > extensions
  key "$file.key"
  openssl req -new -key "$file.key" -subj "/CN=$1" -out request
  openssl x509 -req -in request -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -extfile extensions -out "$file.crt" 2> log ||
    { cat log >&2; exit 1; }
  rm -f extensions request log
}

key ca.key
openssl req -x509 -new -key ca.key -subj "/CN=Sidevault on one machine" -days 3650 -out ca.crt
issue edge "$@" admin gateway-1 gateway-2
issue postgres postgres
issue redis redis

openssl rand -base64 32 > root.key
random > postgres_password
random > database_password
redis_password=$(random)
echo "postgres://sidevault:$(cat database_password)@postgres:5432/sidevault?sslmode=verify-full&sslrootcert=/run/secrets/ca.crt" > store
echo "rediss://:$redis_password@redis:6379" > redis
# Nothing in Redis has to survive.
cat > redis.conf <<END
port 0
tls-port 6379
tls-cert-file /run/secrets/redis.crt
tls-key-file /run/secrets/redis.key
tls-ca-cert-file /run/secrets/ca.crt
tls-auth-clients no
requirepass $redis_password
save ""
appendonly no
END

chmod 0400 ./*
chmod 0444 ./*.crt
if [ "$(id -u)" = 0 ]; then
  # 1000: Sidevault. 999: PostgreSQL, and Redis.
  chown 1000:1000 root.key edge.key store redis ../backups
  chown 999:999 postgres.key redis.key redis.conf postgres_password database_password
else
  echo "not root: give each file of secrets/ to the user of its container, as prepare.sh does" >&2
fi
cd ..
mv secrets.partial secrets
echo "secrets/ is ready. Copy secrets/root.key and secrets/ca.key elsewhere now; then delete secrets/ca.key here."
