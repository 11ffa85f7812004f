#!/usr/bin/env bash
# Calls every row of the REST API on a running demo bench, what works and what is refused, and checks status and body.
#
#   benchd demo                                  in one terminal
#   BENCHD_API_KEY=bk_… scripts/tour.sh [URL]    in another
#
# Needs curl alone. Exits 1 if an answer is not as it should be.
set -u
url=${1:-${BENCHD_URL:-http://127.0.0.1:8520}}
key=${BENCHD_API_KEY:?put a key of scope admin into BENCHD_API_KEY; the demo prints one}
passed=0 failed=0 answered=

# expect STATUS PATTERN METHOD PATH [BODY [CURL-OPTION…]]: the body must match the pattern, an extended regular expression.
expect() {
  local status=$1 pattern=$2 method=$3 path=$4 body=${5-} answer got
  shift $(($# < 5 ? $# : 5))
  local data=() auth=(-H "X-API-Key: $key")
  if [[ $* == *X-API-Key* ]]; then auth=(); fi
  if [[ -n $body ]]; then data=(-H 'Content-Type: application/json' --data-raw "$body"); fi
  answer=$(curl -sS -m 300 -X "$method" "${auth[@]}" "${data[@]}" "$@" -w '\n%{http_code}' "$url$path" 2>&1)
  got=${answer##*$'\n'}
  answer=${answer%$'\n'*}
  # A body in JSON ends its line.
  answer=${answer%$'\n'}
  answered=$answer
  if [[ $got == "$status" && $answer =~ $pattern ]]; then
    passed=$((passed + 1))
    printf 'ok      %s %-6s %s\n' "$got" "$method" "$path"
  else
    failed=$((failed + 1))
    printf 'NOT OK  %s %-6s %s  wanted %s and %s\n        %s\n' "$got" "$method" "$path" "$status" "$pattern" "${answer:0:400}"
  fi
}
title() { printf '\n%s\n' "$*"; }

device=/api/devices
shaker=$device/shaker-1 sealer=$device/sealer-1 centrifuge=$device/centrifuge-1 arm=$device/arm-1
ok='"success":true'

title 'Keys'
expect 401 '^\{"detail":"' GET $device '' -H 'X-API-Key:'
expect 401 '^\{"detail":"' GET $device '' -H 'X-API-Key: bk_aaaaaaaa_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
expect 401 '^\{"detail":"' GET "/events" '' -H 'X-API-Key:'
expect 404 '^\{"detail":"' GET /api/nothing
expect 405 '^\{"detail":"' DELETE $device

title 'The service'
expect 200 '"status":"(ok|degraded)"' GET /health '' -H 'X-API-Key:'
expect 200 '"api_version":"2.1.0"' GET /api/system
expect 200 '"openapi": ?"3.1' GET /openapi.json '' -H 'X-API-Key:'

title 'Devices'
expect 200 '^\{"devices":\[\{"device_id":"shaker-1","type":"shaker","name":"[^"]+","is_initialized":(true|false)\},' GET $device
expect 200 '"driver":"bioshake","simulated":true' GET $shaker
expect 404 'no device \\"shaker-9\\"' GET $device/shaker-9
expect 200 '"name":"shake","method":"POST"' GET $shaker/capabilities
expect 404 'no device' GET $device/nobody/capabilities
expect 200 '^\{"device_id":"shaker-1","is_initialized":(true|false)\}$' GET $shaker/initialized
expect 404 'no device' GET $device/nobody/initialized

title 'Shaker'
expect 200 "$ok" POST $shaker/initialize
expect 200 '"is_initialized":true' GET $shaker/initialized
expect 200 '"source":"instrument"' GET $shaker/capabilities
expect 200 "$ok" POST $shaker/unlock_plate
expect 409 'lock' POST $shaker/shake '{"speed": 500, "duration": 5}'
expect 200 "$ok" POST $shaker/lock_plate '{}'
expect 200 '^\{"success":true,"message":"' POST $shaker/shake '{"speed": 500, "duration": 5}'
expect 400 'speed 90000 rpm' POST $shaker/shake '{"speed": 90000, "duration": 5}'
expect 400 'multiple of 1' POST $shaker/shake '{"speed": 500, "duration": 1.5}'
expect 400 'duration is missing' POST $shaker/shake '{"speed": 500}'
expect 400 'did you mean \\"speed\\"' POST $shaker/shake '{"sped": 500, "duration": 5}'
expect 400 'not JSON' POST $shaker/shake '{"speed": 500,'
expect 400 'too large' POST $shaker/shake '{"speed": 1e999, "duration": 5}'
expect 415 'application/json' POST $shaker/shake 'speed=500' -H 'Content-Type: application/x-www-form-urlencoded'
expect 200 "$ok" POST $shaker/set_temperature '{"temperature": 37}'
expect 400 'temperature 300' POST $shaker/set_temperature '{"temperature": 300}'
expect 200 '^\{"device_id":"shaker-1","temperature":[0-9.]+,"target":37\}$' GET $shaker/get_temperature
expect 404 'no device' GET $device/nobody/get_temperature
expect 400 'cannot seal' POST $shaker/seal '{"temperature": 165, "duration": 3}'

title 'One thing at a time, and the stop'
expect 202 '"status":"running"' POST $shaker/shake '{"speed": 500, "duration": 600}' -H 'Prefer: respond-async'
expect 409 'shaker-1 is running shake, about [0-9]+ s left' POST $shaker/unlock_plate
expect 200 '"temperature":' GET $shaker/get_temperature
expect 200 '"state":"busy","operation":\{"operation_id":"[^"]+","name":"shake"' GET $shaker
expect 200 "$ok" POST $shaker/stop
expect 200 '"state":"stopped"' GET $shaker
expect 409 'was stopped' POST $shaker/lock_plate
expect 404 'no device' POST $device/nobody/stop
expect 200 "$ok" POST $shaker/initialize
expect 404 'no operation' GET /api/operations/none

title 'Sealer'
expect 409 'not initialized|was stopped' POST $sealer/open
expect 200 "$ok" POST $sealer/initialize
expect 200 "$ok" POST $sealer/open
expect 200 "$ok" POST $sealer/close
expect 200 "$ok" POST $sealer/set_temperature '{"temperature": 100}'
expect 200 '"target":100' GET $sealer/get_temperature
expect 200 "$ok" POST $sealer/seal '{"temperature": 100, "duration": 2}'
expect 400 'duration 60' POST $sealer/seal '{"temperature": 100, "duration": 60}'
expect 400 'cannot shake' POST $sealer/shake '{"speed": 500, "duration": 5}'

title 'Centrifuge'
expect 200 "$ok" POST $centrifuge/initialize
expect 200 "$ok" POST $centrifuge/open
expect 409 'door' POST $centrifuge/centrifuge '{"g": 200, "duration": 5}'
expect 200 "$ok" POST $centrifuge/close
expect 200 "$ok" POST $centrifuge/centrifuge '{"g": 200, "duration": 5}'
expect 400 'g 90000' POST $centrifuge/centrifuge '{"g": 90000, "duration": 5}'
expect 400 'cannot get_temperature' GET $centrifuge/get_temperature
expect 400 'cannot set_temperature' POST $centrifuge/set_temperature '{"temperature": 20}'

title 'Robot arm'
expect 200 "$ok" POST $arm/initialize
expect 400 'cannot lock_plate' POST $arm/lock_plate

title 'Teachpoints'
points=/api/teachpoints
point='{"device_id": "arm-1", "name": "tour", "coord_type": "cartesian", "coords": {"x": 1, "y": 2, "z": 3, "yaw": 0, "pitch": 0, "roll": 0}}'
moved='{"coord_type": "cartesian", "coords": {"x": 1.5, "y": 2, "z": 3, "yaw": 0, "pitch": 0, "roll": 0}}'
odd='{"device_id": "arm-1", "name": "Ablage 3/ü", "coord_type": "joint", "coords": {"base": 1, "shoulder": 2, "elbow": 3, "wrist": 4}}'
expect 200 '^\{"teachpoints":\[\{"device_id":"arm-1"' GET "$points?device_id=arm-1"
expect 400 'device_id' GET $points
expect 404 'no device' GET "$points?device_id=nobody"
expect 201 '"name":"tour"' POST $points "$point"
expect 409 'tour' POST $points "$point"
expect 404 'no device \\"arm-9\\"' POST $points "${point/arm-1/arm-9}"
expect 400 'roll is missing' POST $points "${point/, \"roll\": 0/}"
expect 200 '"x":1,' GET $points/arm-1/tour
expect 404 'nowhere' GET $points/arm-1/nowhere
expect 200 '"x":1.5,' PUT $points/arm-1/tour "$moved"
expect 404 'nowhere' PUT $points/arm-1/nowhere "$moved"
expect 400 'other' PUT $points/arm-1/tour "${moved/\{/\{\"name\": \"other\", }"
expect 201 '"coord_type":"joint"' POST $points "$odd"
expect 200 'Ablage 3/ü' GET "$points/arm-1/Ablage%203%2F%C3%BC"
expect 400 'escape' GET "$points/arm-1/%zz"
expect 200 "$ok" DELETE "$points/arm-1/Ablage%203%2F%C3%BC"
expect 200 "$ok" DELETE $points/arm-1/tour
expect 404 'tour' DELETE $points/arm-1/tour
expect 200 '^\{"device_id":"arm-1","teachpoints":\[' GET $points/export/arm-1
expect 404 'no device' GET $points/export/nobody
exported=$(curl -sS -H "X-API-Key: $key" "$url$points/export/arm-1")
expect 409 'already' POST $points/bulk "$exported"
expect 200 '"created":0,"updated":[1-9]' POST $points/bulk "${exported/\{/\{\"overwrite\": true, }"
expect 200 '"created":1,"updated":0' POST $points/bulk "[$point]"
expect 400 'twice' POST $points/bulk "[$odd, $odd]"
expect 200 "$ok" DELETE $points/arm-1/tour

title 'Topologies and workflows'
expect 200 '"name":"demo","loaded":true' GET /api/topologies
expect 200 '"name":"shaker_in","device":"shaker-1"' GET /api/topology
expect 404 'did you mean' POST /api/topology/load '{"name": "dmeo"}'
expect 409 'demo is loaded' POST /api/topology/load '{"name": "smc"}'
expect 200 "$ok" POST /api/topology/unload
expect 404 'no topology is loaded' GET /api/topology
expect 200 "$ok" POST /api/topology/load '{"name": "demo"}'
expect 200 "$ok" POST /api/system/reload
expect 200 '"name":"seal-and-spin","topology":"demo"' GET /api/workflows
expect 200 '"document":\{"format":1,"name":"seal-and-spin"' GET /api/workflows/seal-and-spin
wait='{"format":1,"name":"tour","topology":"demo","labware":{"plate":{"type":"96-well"}},"methods":{"look":[{"instruct":"look at it"}]},
  "threads":{"plate":{"labware":"plate","start":{"at":"pad_1","mode":"REUSE_EXISTING"},"end":{"at":["pad_1"],"mode":"LEAVE_IN_PLACE"},
  "steps":[{"wait_for":"tour.go"},{"method":"look"}]}},"start":["plate"]}'
expect 201 '"name":"tour","topology":"demo","form":"json","source":"api"' PUT /api/workflows/tour "$wait"
expect 400 'did you mean \\"look\\"' PUT /api/workflows/tour "${wait/\"method\":\"look\"/\"method\":\"lok\"}"
expect 409 'comes with the program' PUT /api/workflows/seal-and-spin "${wait/\"name\":\"tour\"/\"name\":\"seal-and-spin\"}"

expect 200 '"version":2' PUT "/api/workflows/tour?note=louder" "${wait/look at it/look at it!}"
expect 200 '"version":2,.*"note":"louder".*"version":1' GET /api/workflows/tour/versions
expect 200 '"document":\{"format":1' GET /api/workflows/tour/versions/1
expect 404 'no version 9' GET /api/workflows/tour/versions/9
expect 200 'methods.look\[0\].instruct: ' GET /api/workflows/tour/diff
expect 200 '"is_same":false' POST /api/workflows/tour/diff "$wait"
expect 200 '"version":3' POST /api/workflows/tour/versions/1/restore
expect 200 '"versions":' GET /api/topologies/demo/versions
expect 404 'no version 9' GET /api/topologies/demo/versions/9
expect 404 'no version' GET "/api/topologies/demo/diff?from=8&to=9"
expect 200 '"is_same":false' POST /api/topologies/demo/diff '{"format": 1, "name": "demo", "positions": {"pad_1": {}}}'
expect 404 'no version 9' POST /api/topologies/demo/versions/9/restore

title 'Runs'
expect 400 'run_mode is missing' POST /api/submissions '{"workflow": "tour"}'
expect 404 'no workflow' POST /api/submissions '{"workflow": "nothing", "run_mode": "LIVE"}'
expect 202 '"status":"IN_PROGRESS"' POST /api/submissions '{"workflow": "seal-and-spin", "run_mode": "PURE_SIM"}'
expect 202 '"status":"IN_PROGRESS"' POST /api/submissions '{"workflow": "tour", "run_mode": "LIVE", "operator_id": "tour"}'
run=/api/executions/$(grep -oE '"execution_id":"[^"]+' <<<"$answered" | cut -d'"' -f4)
submission=$(grep -oE '"submission_id":"[^"]+' <<<"$answered" | cut -d'"' -f4)
expect 200 '"workflow_name":"tour"' GET /api/submissions
expect 200 '"operator_id":"tour"' GET "/api/submissions/$submission"
expect 200 '"workflow_name":"tour"' GET /api/executions
expect 200 '"thread_name":"plate"' GET "$run"
expect 200 '"workflow_version":3' GET "$run/workflow"
expect 200 '"thread_name":"plate"' GET "$run/threads"
thread=/api/threads/$(grep -oE '"thread_id":"[^"]+' <<<"$answered" | head -n 1 | cut -d'"' -f4)
expect 200 '"rows":\[' GET "$run/timeline"
expect 200 "$ok" POST "$run/pause"
expect 200 "$ok" POST "$run/resume"
expect 200 "$ok" POST "$thread/pause"
expect 200 "$ok" POST "$thread/resume"
expect 409 'no error holds thread plate' POST "$thread/recover" '{"decision": "RETRY"}'
expect 409 'does not wait for that' POST "$thread/placed"
expect 409 'does not wait for that' POST "$thread/removed"
expect 400 'OPERATOR' POST "$run/emit" '{"name": "OPERATOR.CONFIRM.x"}'
expect 200 "$ok" POST "$run/emit" '{"name": "tour.go"}'
for _ in 1 2 3 4 5 6 7 8 9 10; do
  step=$(curl -sS -H "X-API-Key: $key" "$url/api/operator/steps" | grep -oE 'manual_step-[0-9a-f]{4}' | head -n 1)
  [[ -n $step ]] && break
  sleep 0.2
done
expect 200 'look at it' GET /api/operator/steps
expect 200 "$ok" POST "/api/operator/steps/$step/confirm"
expect 404 'waits for a confirmation' POST "/api/operator/steps/$step/confirm"
expect 202 '"execution_id"' POST /api/submissions '{"workflow": "tour", "run_mode": "LIVE"}'
run=/api/executions/$(grep -oE '"execution_id":"[^"]+' <<<"$answered" | cut -d'"' -f4)
expect 200 '"thread_name":"plate"' GET "$run/threads"
thread=/api/threads/$(grep -oE '"thread_id":"[^"]+' <<<"$answered" | head -n 1 | cut -d'"' -f4)
expect 409 'is open' DELETE "$run"
expect 200 "$ok" POST "$run/close"
expect 409 'not armed' POST "$run/stop" '{"confirm": true}'
expect 200 'armed' POST "$run/stop"
expect 200 "$ok" POST "$run/stop" '{"confirm": true}'
expect 200 '"status":"ABORTED"' GET "$run"
expect 409 'has ended' POST "$thread/stop"
expect 200 "$ok" DELETE "$run"
expect 404 'no execution' GET "$run"
expect 200 "$ok" DELETE /api/workflows/tour
expect 404 'no workflow' DELETE /api/workflows/tour
expect 200 '^\{"incidents":\[' GET /api/incidents
expect 404 'no incident' GET /api/incidents/none
expect 404 'no incident' POST /api/incidents/none/acknowledge

title 'Simulated faults, and events'
expect 201 '"entity_type":"THREAD","entity_id":"tour","status":"STARTED"' POST /api/sim/events '{"event_name": "THREAD.tour.STARTED"}'
expect 400 'event_name' POST /api/sim/events '{"event_name": "nodots"}'
expect 200 'THREAD.tour.STARTED' GET '/events?since=0'
expect 200 '^\{"events":\[\],' GET '/events?since=0&execution_id=none'
expect 400 'since' GET '/events?since=yesterday'
expect 200 "$ok" POST /api/sim/devices/shaker-1/faults '{"fault": "no_reply"}'
expect 500 'shaker-1.*no reply' POST $shaker/lock_plate
expect 409 'fault' POST $shaker/lock_plate
expect 200 '"state":"faulted"' GET $shaker
expect 200 "$ok" DELETE /api/sim/devices/shaker-1/faults
expect 200 "$ok" POST $shaker/clear_fault
expect 409 'not initialized' POST $shaker/lock_plate
expect 200 "$ok" POST $shaker/initialize
expect 400 'fault' POST /api/sim/devices/shaker-1/faults '{"fault": "gremlins"}'
expect 200 'DEVICE.shaker-1.FAULT_CLEARED' GET '/events?since=0'
stream=$(curl -sS -N -m 2 -H "X-API-Key: $key" -H 'Last-Event-ID: 0' "$url/events/stream" 2>/dev/null)
if [[ $stream =~ event:\ runtime_event.data:\ \{\"event_name\" || $stream == *$'event: runtime_event\ndata: {"event_name"'* ]]; then
  passed=$((passed + 1)); echo 'ok      200 GET    /events/stream'
else
  failed=$((failed + 1)); printf 'NOT OK      GET    /events/stream\n        %s\n' "${stream:0:300}"
fi

title 'Stop all'
expect 200 '"devices":\[\{"device_id":"shaker-1","success":true' POST /api/stop
expect 200 '"state":"stopped"' GET $arm

printf '\n%s passed, %s failed\n' "$passed" "$failed"
[[ $failed == 0 ]]
