#!/usr/bin/env bash
# Builds the release of this commit in a fresh clone, installs each of its packages into an empty folder or root, and makes a first decision
# with each. It needs what make run needs, and mvn, npm, python3, debootstrap and systemd-analyze; a tool that is missing fails it.
set -euo pipefail
unset GOFLAGS
root=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
chmod 755 "$work"
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait || true
  umount "$work/debian/proc" 2>/dev/null || true
  rm -rf "$work" 2>/dev/null || { chmod -R u+w "$work"; rm -rf "$work"; } # the Go module cache is read-only
}
trap finish EXIT
step() { echo; echo "== $*"; }
fail() { echo "release-check: $*" >&2; exit 1; }
quietly() { "$@" > "$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }
made() { echo "$1: $2"; [ "$2" = challenge ] || fail "$1 made no first decision"; }

for tool in npm mvn javac python3 debootstrap systemd-analyze; do command -v "$tool" >/dev/null || fail "$tool is missing"; done

step "a fresh clone builds every package"
git clone -q "$root" "$work/clone"
cd "$work/clone"
version=$(cat VERSION)
make packages
ls -l dist | awk 'NR > 1 && $5 > 0 { printf "%9d  %s\n", $5, $9 }'

step "the archive: its licence is there, and no link of its documents leads nowhere"
mkdir "$work/archive"
tar -C "$work/archive" -xzf "dist/countersign_${version}_linux_amd64.tar.gz"
[ -s "$work/archive/LICENSE" ] || fail "the archive has no LICENSE"
(cd "$work/archive" && find . -name '*.md' | while read -r page; do
  # grep finds nothing in a page without a link.
  { grep -oE '\]\([^)[:space:]]+\)' "$page" || true; } | sed 's/^](//; s/)$//; s/#.*//' | { grep -vE '^$|:|^/' || true; } | while read -r target; do
    [ -e "$(dirname "$page")/$target" ] || { echo "$page links to $target, which is not in the archive"; exit 1; }
  done
done)

step "the archive: countersign dev in an empty folder"
mkdir "$work/run"
cd "$work/run"
make -s -C "$root" bin/devstack
"$work/archive/countersign" dev --quiet --devstack "$root/bin/devstack" --port 18080 --ops-port 18081 --temporal-port 0 --temporal-ui-port 0 > out 2>&1 &
dev=$!
pids+=("$dev")
of() { python3 -c 'import json, sys; v = json.load(open(".data/dev.json")); [v := v[k] for k in sys.argv[1:]]; print(v)' "$@" 2>/dev/null; }
for _ in $(seq 600); do
  COUNTERSIGN_URL=$(of base_url) && curl -sf "$(of ops_url)/readyz" >/dev/null && break
  kill -0 "$dev" 2>/dev/null || { cat out; fail "countersign dev ended"; }
  sleep 0.2
done
COUNTERSIGN_KEY=$(of environments sandbox server_key)
export COUNTERSIGN_URL COUNTERSIGN_KEY SUBJECT ACTION

# call METHOD PATH KEY BODY prints the response; field NAME reads one of its texts.
call() { curl -sS --fail-with-body -X "$1" "$COUNTERSIGN_URL$2" -H "Authorization: Bearer $3" -H 'Content-Type: application/json' -d "$4"; }
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
# prepare KEY makes the action and the subject of the first decisions: one that requires the user's approval.
prepare() {
  ACTION=first.decision
  local id
  id=$(call POST /api/v1/actions "$1" '{"key": "first.decision", "name": "A first decision", "resource_type": "account", "consequence": "It is decided.", "allowed_audiences": ["payments"]}' | field id)
  call POST "/api/v1/actions/$id/policy-versions" "$1" '{"requirements": {"coverage_min": "none", "explicit_approval_required": true}}' >/dev/null
  call POST "/api/v1/actions/$id/policy-versions/1/activate" "$1" '' >/dev/null
  call PATCH "/api/v1/actions/$id" "$1" '{"mode": "enforce"}' >/dev/null
  SUBJECT=$(call POST /api/v1/subjects "$1" '{}' | field id)
}
decide() {
  call POST /api/v1/authorize "$1" "{\"subject\": \"$SUBJECT\", \"action\": \"$ACTION\", \"audience\": \"payments\",
    \"resource\": {\"type\": \"account\", \"id\": \"acc-1\"}, \"context\": {\"amount\": 250}, \"requested_at\": $(date +%s),
    \"nonce\": \"$(openssl rand -hex 16)\", \"idempotency_key\": \"$(openssl rand -hex 16)\"}" | field decision
}
prepare "$COUNTERSIGN_KEY"
made archive "$(decide "$COUNTERSIGN_KEY")"

dist=$work/clone/dist
first=$work/clone/tools/release/testdata/first
empty() { mkdir "$work/$1"; cd "$work/$1"; }

step "npm"
empty npm
npm init -y >/dev/null
npm install --silent --no-audit --no-fund "$dist/countersign-sdk-$version.tgz"
cp "$first/first.mjs" .
made npm "$(node first.mjs)"

step "wheel and source of Python"
for package in "countersign-$version-py3-none-any.whl" "countersign-$version.tar.gz"; do
  rm -rf "$work/python"
  empty python
  python3 -m venv venv
  venv/bin/pip install -q --disable-pip-version-check "$dist/$package"
  made "$package" "$(venv/bin/python "$first/first.py")"
done

step "jar"
empty java
mvn -B -q -Dmaven.repo.local="$work/java/repository" org.apache.maven.plugins:maven-install-plugin:3.1.3:install-file \
  -Dfile="$dist/countersign-$version.jar" -DpomFile="$dist/countersign-$version.pom" \
  -Dsources="$dist/countersign-$version-sources.jar" -Djavadoc="$dist/countersign-$version-javadoc.jar"
mkdir -p src/main/java
cp "$first/First.java" src/main/java
cat > pom.xml <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId>
  <artifactId>first</artifactId>
  <version>1</version>
  <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
  <dependencies><dependency><groupId>dev.countersign</groupId><artifactId>countersign</artifactId><version>$version</version></dependency></dependencies>
</project>
POM
mvn -B -q -Dmaven.repo.local="$work/java/repository" compile org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
made jar "$(java -cp 'target/classes:target/dependency/*' First)"
mvn -B -q -Dmaven.repo.local="$work/java/repository" org.apache.maven.plugins:maven-install-plugin:3.1.3:install-file \
  -Dfile="$dist/countersign-spring-boot-starter-$version.jar" -DpomFile="$dist/countersign-spring-boot-starter-$version.pom"
cp "$first/Started.java" src/main/java
# An application of Spring Boot takes its versions from Spring Boot's parent.
boot=$(sed -n 's#.*<spring-boot.version>\(.*\)</spring-boot.version>.*#\1#p' "$work/clone/sdk/java/spring/pom.xml")
parent="<parent><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-parent</artifactId><version>$boot</version></parent>"
sed -i "s#<artifactId>countersign</artifactId>#<artifactId>countersign-spring-boot-starter</artifactId>#; s#<modelVersion>.*#&$parent#" pom.xml
rm -r target
mvn -B -q -Dmaven.repo.local="$work/java/repository" compile org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies
made "Spring Boot starter" "$(java -cp 'target/classes:target/dependency/*' Started)"

step "Go modules from a folder that is a module proxy"
empty go
mkdir proxy
tar -C proxy --strip-components 1 -xzf "$dist/countersign-go-modules-$version.tar.gz"
cp "$first/first.go.txt" main.go
go mod init example.com/first 2>/dev/null
modules() { GOFLAGS=-modcacherw GOMODCACHE="$work/modules" GONOSUMDB='github.com/countersign-dev/*' GOPROXY="file://$work/go/proxy,$(cd / && go env GOPROXY)" go "$@"; }
for module in sdk/go sdk/go/mcpgate sdk/go/protect/fibergate; do
  quietly modules get "github.com/countersign-dev/countersign/$module@v$version"
done
quietly modules mod tidy
made "Go modules" "$(modules run .)"

step "the context of the images"
empty context
mkdir source
tar --strip-components 1 -C source -xzf "$dist/countersign_${version}_source.tar.gz"
sed -n 's/^!//p' source/.dockerignore | (cd source && xargs cp -r --parents -t ..)
grep -oE 'go build .*' "$work/clone/Dockerfile" | while read -r build; do
  # As BuildKit runs it, with the output in a folder of this one.
  VERSION=$version bash -euc "${build//\/out\//$work/context/out/}"
done
ls "$work/context/out"
[ "$("$work/context/out/countersign" version | awk '{ print $NF; exit }')" = "$version" ] || fail "the image's binary has another version"

step "the Helm chart"
(cd "$work/clone" && go test -C tools/check -count 1 ./kubernetes/...)

step "the Debian packages in an empty Debian"
empty debian
debootstrap --variant=minbase --include=ca-certificates,systemd bookworm "$work/debian/root" >/dev/null
echo "127.0.0.1 localhost" > root/etc/hosts
inside() { chroot "$work/debian/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
cp "$dist"/countersign{,-gate}_"${version}"_linux_amd64.deb root/tmp
inside dpkg -i "/tmp/countersign_${version}_linux_amd64.deb" "/tmp/countersign-gate_${version}_linux_amd64.deb" >/dev/null
inside countersign-gate --help >/dev/null
for unit in root/lib/systemd/system/countersign*.service; do
  systemd-analyze verify --man=no --root="$work/debian/root" "$(basename "$unit")" 2>&1 | { ! grep countersign; } || fail "$unit"
done
served() { chroot "$work/debian/root" /usr/bin/countersign "$@"; }
database=$(cd "$work/run" && of database_url | sed 's#/countersign?#/debian?#')
psql -q "$(cd "$work/run" && of database_url)" -c 'create database debian'
set -a
COUNTERSIGN_MASTER_KEY=$(served key generate) COUNTERSIGN_DATABASE_URL=$database COUNTERSIGN_TEMPORAL_ADDRESS=$(cd "$work/run" && of temporal_address)
COUNTERSIGN_BASE_URL=http://localhost:18090 COUNTERSIGN_LISTEN=127.0.0.1:18090 COUNTERSIGN_OPS_LISTEN=127.0.0.1:18091
set +a
served migrate >/dev/null
admin=$(served tenant create --name First --rp-id first.example --origin https://first.example --background prior | awk '$1 == "sandbox" && /shown this once/ { print $NF }')
chroot "$work/debian/root" /usr/bin/countersign serve > serve.out 2>&1 & # not by a function: kill would end its subshell alone
pids+=($!)
for _ in $(seq 300); do curl -sf http://localhost:18091/livez >/dev/null && break; sleep 0.2; done
COUNTERSIGN_URL=http://localhost:18090
server=$(call POST /api/v1/credentials "$admin" '{"scope": "server", "name": "first"}' | field key)
prepare "$admin"
made "Debian package" "$(decide "$server")"

step "the gate of the Debian package"
cat > root/tmp/gate.yaml <<YAML
service: {url: "$COUNTERSIGN_URL", key: {env: GATE_KEY}}
state: {keys: [{env: GATE_STATE}]}
identity: {header: {name: X-User, from: [127.0.0.0/8], secret: {env: GATE_PROXY}}}
listen: {forward_auth: {address: "127.0.0.1:18092"}}
trusted_proxies: [127.0.0.0/8]
routes:
- {name: first, hosts: [app.example], methods: [POST], path: "/accounts/{id}", action: $ACTION, audience: payments, resource: {type: account, id: request.params.id}}
YAML
export GATE_KEY=$server GATE_STATE GATE_PROXY
GATE_STATE=$(openssl rand -base64 32) GATE_PROXY=$(openssl rand -hex 32)
chroot "$work/debian/root" /usr/bin/countersign-gate check --config /tmp/gate.yaml
chroot "$work/debian/root" /usr/bin/countersign-gate serve --config /tmp/gate.yaml > gate.out 2>&1 &
pids+=($!)
asked=(-H "Countersign-Proxy-Secret: $GATE_PROXY" -H "X-User: $SUBJECT" -H "X-Forwarded-For: 127.0.0.1" -H "X-Forwarded-Host: app.example"
  -H "X-Forwarded-Method: POST" -H "X-Forwarded-Proto: https" -H "X-Forwarded-Uri: /accounts/acc-1")
for _ in $(seq 100); do answer=$(curl -s "${asked[@]}" http://127.0.0.1:18092/) && break; sleep 0.1; done
made "gate" "$(field decision <<< "$answer")"

echo
echo "release-check: every package of $version installs and decides"
