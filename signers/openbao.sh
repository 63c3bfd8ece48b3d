#!/usr/bin/env bash
# Runs a command with COUNTERSIGN_TEST_SIGNING_KEYS set to the Transit engine of a new OpenBao server, which ends with the command. The token has
# the rights that docs/keys.md asks for, and no others.
set -euo pipefail
bao=$(command -v "${COUNTERSIGN_TEST_OPENBAO:-bao}") || { echo "bao, the program of OpenBao, is not on the PATH: COUNTERSIGN_TEST_OPENBAO may name it"; exit 1; }
dir=$(mktemp -d)
server=
trap 'kill $server 2>/dev/null || true; rm -rf "$dir"' EXIT
export BAO_ADDR=http://127.0.0.1:8218 BAO_TOKEN
BAO_TOKEN=$(head -c 24 /dev/urandom | base64 | tr -d '/+=')
"$bao" server -dev -dev-no-store-token -dev-root-token-id "$BAO_TOKEN" -dev-listen-address "${BAO_ADDR#http://}" >"$dir/log" 2>&1 &
server=$!
until "$bao" status >"$dir/status" 2>&1; do
	kill -0 $server || { cat "$dir/log"; exit 1; }
	sleep 0.05
done
grep '^Version ' "$dir/status"
{
	"$bao" secrets enable transit
	"$bao" write -f transit/keys/countersign-root type=aes256-gcm96
	"$bao" policy write countersign - <<'POLICY'
path "transit/keys/countersign-*" { capabilities = ["create", "read", "update"] }
path "transit/sign/countersign-*" { capabilities = ["create", "update"] }
path "transit/encrypt/countersign-root" { capabilities = ["create", "update"] }
path "transit/decrypt/countersign-root" { capabilities = ["create", "update"] }
POLICY
} >"$dir/setup"
"$bao" token create -policy=countersign -field=token >"$dir/token"
unset BAO_TOKEN
COUNTERSIGN_TEST_SIGNING_KEYS="vault+transit://${BAO_ADDR#http://}/transit?tls=off&token-file=$dir/token" "$@"
