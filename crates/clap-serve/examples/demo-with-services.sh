#!/bin/sh
# The whole stack with curl: an agent's calls reach the program, the program asks its services over HTTP, and
# what a worker was told to do is in the services afterwards, whoever asks them.
#
#   cargo build --package clap-serve --example golem
#   crates/clap-serve/examples/demo-with-services.sh target/debug/examples/golem
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

# address FILE PROCESS: the address that a process writes to a file once it listens.
address() {
    for _ in $(seq 300); do
        found=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' "$1")
        [ -z "$found" ] || { echo "$found" && return; }
        kill -0 "$2" 2>/dev/null || fail 'a process ended' "$(cat "$1")"
        sleep 0.1
    done
    fail 'a process does not say where it listens' "$(cat "$1")"
}

start_services() {
    : >"$folder/listening"
    (cd "$folder/services" && exec "$golem" server run --port "$1") >"$folder/listening" &
    services=$!
    GOLEM_SERVICES_URL=$(address "$folder/listening" "$services")
    export GOLEM_SERVICES_URL
}

# call NAME ARGUMENTS: the answer to a call of a tool, without a session.
call() {
    curl --silent --show-error --max-time 30 \
        --header 'Content-Type: application/json' \
        --header 'Accept: application/json, text/event-stream' \
        --header "Mcp-Session-Id: $session" --header 'MCP-Protocol-Version: 2025-11-25' \
        --data "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}" \
        "$url"
}

# asked PATH: what the services answer without the program between.
asked() {
    curl --silent --show-error --max-time 30 "$GOLEM_SERVICES_URL/v1/$1"
}

echo '-- the services and the server start'
mkdir "$folder/services" "$folder/app"
start_services 0
echo "   ok $(cat "$folder/listening")"
cd "$folder/app"
: >"$folder/said"
"$golem" --allow write --serve=0 2>"$folder/said" &
server=$!
url=$(address "$folder/said" "$server")
curl --silent --show-error --max-time 30 --dump-header "$folder/headers" --output /dev/null \
    --header 'Content-Type: application/json' --header 'Accept: application/json, text/event-stream' \
    --data '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}' \
    "$url"
session=$(sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *\([^[:space:]]*\).*/\1/p' "$folder/headers")
[ -n "$session" ] || fail 'there is no session' "$(cat "$folder/headers")"

echo '-- 1 components'
answer=$(call 'component list' '{"component_name":"","format":"json"}')
has 'there are none yet' "$answer" '"structuredContent":{"result":[]}'
answer=$(call 'component new' '{"component_template":"rust","component_name":"shop:cart"}')
has 'one is made' "$answer" '"isError":false'
has 'the services hold it' "$(asked components)" '"name":"shop:cart"'
answer=$(call 'component list' '{"component_name":"","format":"json"}')
has 'and the agent sees it' "$answer" "\"structuredContent\":{\"result\":$(asked components)}"

echo '-- 2 a worker is invoked'
answer=$(call 'worker new' '{"worker_name":"shop:cart/ann"}')
has 'it is made' "$answer" '"isError":false'
answer=$(call 'worker invoke' '{"worker_name":"shop:cart/ann","function_name":"add-item","arguments":["pen","2"],"format":"json"}')
has 'it counts' "$answer" '"result":{"count":2,"item":"pen"}'
answer=$(call 'worker invoke' '{"worker_name":"shop:cart/ann","function_name":"add-item","arguments":["pen"],"idempotency_key":"k","format":"json"}')
has 'it remembers' "$answer" '"result":{"count":3,"item":"pen"}'
answer=$(call 'worker invoke' '{"worker_name":"shop:cart/ann","function_name":"add-item","arguments":["pen"],"idempotency_key":"k","format":"json"}')
has 'the same key is the same call' "$answer" '"result":{"count":3,"item":"pen"}'
answer=$(call 'worker invoke' '{"worker_name":"shop:cart/ann","function_name":"get-contents","format":"json"}')
has 'its contents are what was added' "$answer" '"result":{"pen":3}'
answer=$(call 'worker invoke' '{"worker_name":"shop:cart/ann","function_name":"pay"}')
has 'an unknown function is told with those that there are' "$answer" 'get-contents'
has 'as an error that a model reads' "$answer" '"isError":true'
has 'the oplog is in the services' "$(asked workers/shop%3Acart%2Fann/oplog)" '"function":"add-item"'

echo '-- 3 the services end and come back'
kill "$services"
wait "$services" || true
answer=$(call 'component list' '{}')
has 'what is wrong is told' "$answer" 'do not answer'
has 'as an error that a model reads' "$answer" '"isError":true'
port=${GOLEM_SERVICES_URL##*:}
start_services "$port"
answer=$(call 'worker invoke' '{"worker_name":"shop:cart/ann","function_name":"get-contents","format":"json"}')
has 'the worker is what it was' "$answer" '"result":{"pen":3}'
echo 'all is as it should be'
