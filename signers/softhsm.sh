#!/usr/bin/env bash
# Runs a command with COUNTERSIGN_TEST_SIGNING_KEYS set to a new token of SoftHSM2, which bin/countersign-pkcs11 serves until the command ends.
set -euo pipefail
dir=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)") # SoftHSM reads the file of every key to find one
signer=
trap 'kill $signer 2>/dev/null || true; rm -rf "$dir"' EXIT
export SOFTHSM2_CONF=$dir/softhsm2.conf
printf 'directories.tokendir = %s\nlog.level = ERROR\n' "$dir" >"$SOFTHSM2_CONF"
echo 1234 >"$dir/pin"
head -c 24 /dev/urandom | base64 >"$dir/auth"
softhsm2-util --init-token --free --label countersign --pin 1234 --so-pin 1234 >/dev/null
bin/countersign-pkcs11 -module "$(ls /usr/lib/*/softhsm/libsofthsm2.so)" -token countersign -pin-file "$dir/pin" -auth-token-file "$dir/auth" \
	-listen 127.0.0.1:8219 >"$dir/log" 2>&1 &
signer=$!
until (exec 3<>/dev/tcp/127.0.0.1/8219) 2>/dev/null; do
	kill -0 $signer || { cat "$dir/log"; exit 1; }
	sleep 0.05
done
COUNTERSIGN_TEST_SIGNING_KEYS="vault+transit://127.0.0.1:8219/pkcs11?tls=off&token-file=$dir/auth" "$@"
