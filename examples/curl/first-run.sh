#!/bin/sh
# The first calls to a running engine, with curl alone. It starts nothing and needs no key: the model is scripted.
#
#   ENGINE_TOKEN=… sh examples/curl/first-run.sh
#
# ENGINE_URL   where the engine listens; default http://127.0.0.1:8080
# ENGINE_TOKEN the token the engine was started with; required
#
# Ends with 0 if every call was answered as it says here. Before changing it: test/examples/curl.test.ts runs it.
set -eu

url=${ENGINE_URL:-http://127.0.0.1:8080}
token=${ENGINE_TOKEN:?set it to the token that the engine was started with}
now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
# A key stands for one intent: another run of this script is another one.
key="first-run-$(date +%s)-$$"

# engine METHOD PATH [BODY]: one call with the engine token; an answer of 400 or more ends the script and is shown.
engine() {
  if [ $# -gt 2 ]; then
    curl --silent --show-error --fail-with-body --max-time 30 --request "$1" "$url$2" \
      --header "Authorization: Bearer $token" --header 'Content-Type: application/json' --data "$3"
  else
    curl --silent --show-error --fail-with-body --max-time 30 --request "$1" "$url$2" \
      --header "Authorization: Bearer $token"
  fi
}

# field NAME: the text of a field of the JSON on standard input. Enough for ids and addresses; use jq for more.
field() {
  sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

# request KEY WAIT: the body of a run.
request() {
  cat <<JSON
{
  "contract_version": "1",
  "idempotency_key": "$1",
  "llm": { "provider": "scripted", "model": "hello" },
  "messages": [
    { "role": "user", "content": [{ "type": "text", "text": "Hello, loop" }], "created_at": "$now" }
  ],
  "wait": $2
}
JSON
}

echo '# 1. Is it there?'
engine GET /health
echo

echo '# 2. A run, waited for: the answer is its result'
engine POST /runs "$(request "$key-waited" true)"
echo

echo '# 3. A run, started: the answer comes at once, the result later'
started=$(engine POST /runs "$(request "$key" false)")
echo "$started"
run_id=$(echo "$started" | field run_id)
stream_url=$(echo "$started" | field stream_url)

echo '# 4. Its stream, as a browser reads it: no engine token, the address opens this one run'
curl --silent --show-error --fail-with-body --no-buffer --max-time 30 "$stream_url"

echo '# 5. The same request again: no second run'
repeated=$(engine POST /runs "$(request "$key" false)")
echo "$repeated"
[ "$(echo "$repeated" | field run_id)" = "$run_id" ] || { echo 'another run was started' >&2; exit 1; }

echo '# 6. Its result, fetched and then said to be stored'
engine GET "/runs/$run_id"
echo
engine POST "/runs/$run_id/ack"
echo

echo '# 7. A request with faults: every one is told'
wrong=$(curl --silent --show-error --max-time 30 --request POST "$url/runs" --write-out ' %{http_code}' \
  --header "Authorization: Bearer $token" --header 'Content-Type: application/json' \
  --data '{ "contract_version": "1", "idempotency_key": "", "llm": { "provider": "scripted" }, "messages": [] }')
echo "$wrong"
[ "${wrong##* }" = 400 ] || { echo 'the faults were not told' >&2; exit 1; }
