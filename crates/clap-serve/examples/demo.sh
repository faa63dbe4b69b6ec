#!/bin/sh
# A session with curl, step by step, against the golem-shaped example: initialize, initialized, tools/list,
# calls, resources, a blocked call. What the server answers is compared with what the program itself says.
# The services that the program asks run beside it; demo-with-services.sh looks at them.
#
#   cargo build --package clap-serve --example golem
#   crates/clap-serve/examples/demo.sh target/debug/examples/golem
#
# Ends with 0 when all is as it should be, and with 1 at the first thing that is not.

set -eu

golem=$(realpath "${1:?give the path of the golem example}")
folder=$(mktemp -d)
server=
services=

end() {
    for process in $server $services; do
        kill "$process" 2>/dev/null || true
    done
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM

fail() {
    printf '   FAILED %s\n' "$1" >&2
    [ -z "${2:-}" ] || printf '%s\n' "$2" >&2
    exit 1
}

# has WHAT TEXT PART: says that a text has a part, or ends.
has() {
    case $2 in *"$3"*) printf '   ok %s\n' "$1" ;; *) fail "$1: no $3 in" "$2" ;; esac
}

has_not() {
    case $2 in *"$3"*) fail "$1: $3 in" "$2" ;; *) printf '   ok %s\n' "$1" ;; esac
}

# post BODY [HEADER]: the answer, in the session if there is one.
post() {
    curl --silent --show-error --max-time 30 --dump-header "$folder/headers" \
        --header 'Content-Type: application/json' \
        --header 'Accept: application/json, text/event-stream' \
        ${session:+--header "Mcp-Session-Id: $session"} \
        ${session:+--header 'MCP-Protocol-Version: 2025-11-25'} \
        --data "$1" "$url"
}

# call NAME ARGUMENTS: the answer to a call of a tool.
call() {
    post "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}"
}

echo '-- the services start'
mkdir "$folder/services"
(cd "$folder/services" && exec "$golem" server run --port 0) >"$folder/listening" &
services=$!
GOLEM_SERVICES_URL=
for _ in $(seq 300); do
    GOLEM_SERVICES_URL=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' "$folder/listening")
    [ -z "$GOLEM_SERVICES_URL" ] || break
    kill -0 "$services" 2>/dev/null || fail 'the services ended' "$(cat "$folder/listening")"
    sleep 0.1
done
[ -n "$GOLEM_SERVICES_URL" ] || fail 'the services do not say where they are'
export GOLEM_SERVICES_URL
echo "   ok $(cat "$folder/listening")"

mkdir -p "$folder/app/sub"
printf 'app: demo\n' >"$folder/app/golem.yaml"
printf 'component: cart\n' >"$folder/app/sub/golem-cart.yaml"
printf 'password: do-not-tell\n' >"$folder/app/secrets.yaml"
cd "$folder/app"
"$golem" component new rust shop:cart >/dev/null

echo '-- the server starts'
: >"$folder/said"
"$golem" --serve=0 2>"$folder/said" &
server=$!
url=
for _ in $(seq 300); do
    url=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' "$folder/said")
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || fail 'the server ended' "$(cat "$folder/said")"
    sleep 0.1
done
[ -n "$url" ] || fail 'the server does not say where it is' "$(cat "$folder/said")"
echo "   ok $(cat "$folder/said")"

echo '-- 1 initialize'
session=
answer=$(post '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}')
has 'the server says who it is' "$answer" '"name":"golem"'
has 'there are tools' "$answer" '"tools":'
has 'there are resources' "$answer" '"resources":'
session=$(sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *\([^[:space:]]*\).*/\1/p' "$folder/headers")
[ -n "$session" ] || fail 'there is no session' "$(cat "$folder/headers")"
echo '   ok there is a session'

echo '-- 2 initialized'
answer=$(post '{"jsonrpc":"2.0","method":"notifications/initialized"}')
has 'it is accepted' "$(head -n 1 "$folder/headers")" ' 202'
[ -z "$answer" ] || fail 'a notification is answered' "$answer"

echo '-- 3 tools/list'
answer=$(post '{"jsonrpc":"2.0","id":3,"method":"tools/list"}')
has 'component list is a tool' "$answer" '"name":"component_list"'
has 'with its arguments' "$answer" '"component_name"'
has_not 'what writes is none, unless it is allowed' "$answer" '"name":"component_new"'
for blocked in profile_ cloud_token cloud_account cloud_project_grant cloud_project_policy account_ grant_; do
    has_not "nothing is called $blocked" "$answer" "\"name\":\"$blocked"
done

echo '-- 4 calls'
answer=$(call --version '{}')
has 'the version is the program'"'"'s own' "$answer" "\"text\":\"$("$golem" --version)"
has 'and no error' "$answer" '"isError":false'
listed=$("$golem" component list --format json)
answer=$(call 'component list' '{"format":"json"}')
has 'component list answers what the program lists' "$answer" "\"structuredContent\":{\"result\":$listed}"
answer=$(call component_get '{"component_name":"shop:cart","format":"json"}')
has 'component get answers what was stored' "$answer" '"template":"rust"'
answer=$(call 'component list' '{"component_name":"","format":"json"}')
has 'an empty name is none' "$answer" "\"structuredContent\":{\"result\":$listed}"
answer=$(call component_get '{}')
has 'a missing argument is named' "$answer" 'component_name'
has 'as an error that a model reads' "$answer" '"isError":true'

echo '-- 5 resources'
answer=$(post '{"jsonrpc":"2.0","id":5,"method":"resources/list"}')
has 'the manifest is listed' "$answer" "file://$(pwd -P)/golem.yaml"
has 'the one below it too' "$answer" '"name":"sub/golem-cart.yaml"'
has_not 'other files are not' "$answer" 'secrets.yaml'
answer=$(post "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/read\",\"params\":{\"uri\":\"file://$(pwd -P)/golem.yaml\"}}")
has 'the manifest is read' "$answer" '"text":"app: demo\n"'
answer=$(post "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/read\",\"params\":{\"uri\":\"file://$(pwd -P)/secrets.yaml\"}}")
has 'another file is not' "$answer" '"error":'
has_not 'and nothing of it is told' "$answer" 'do-not-tell'

echo '-- 6 blocked calls'
for name in 'cloud token' cloud_token_list profile_list 'profile list' component_new no_such_tool; do
    answer=$(call "$name" '{}')
    has "$name is not found" "$answer" "\"text\":\"Error: Tool '$name' not found\""
    has 'as an error that a model reads' "$answer" '"isError":true'
done
[ ! -e .golem-blocked-ran ] || fail 'a blocked command ran' "$(cat .golem-blocked-ran)"
echo 'all is as it should be'
