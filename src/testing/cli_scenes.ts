// The table of scenes: every command of `benchd help` in front of the demo's bench, with its output and its exit code.

/**
 * A command line, its exit code, and patterns for stdout and stderr; stdout is empty where its pattern is left out. `$NAME` stands for a value:
 * of the test, or of a group of that name in an earlier pattern. Single quotes keep blanks together.
 */
export type Called = { line: string; code: number; out?: RegExp; err?: RegExp }

/** A command that runs until it is interrupted or ends by itself: its first matching line, and the scenes that happen before that line. */
export type Ongoing = Called & { out: RegExp; meanwhile?: readonly Scene[]; interrupted: boolean }

/** Asks the service until its answer matches. */
export type Awaited = { path: string; until: RegExp }

export type Scene = Called | Ongoing | Awaited

const said = (line: string, out: RegExp): Called => ({ line, code: 0, out })
/** An empty list, which stderr explains. */
const none = (line: string, err: RegExp): Called => ({ line, code: 0, out: /^(?:[A-Z ]*\n)?$/, err })
const refused = (line: string, code: number, err: RegExp): Called => ({ line, code, err })

const benchScenes: readonly Scene[] = [
  said('status', /^benchd \S+ {2}ok/),
  refused('status --url http://127.0.0.1:1', 69, /no service answers at/),
  said('top', /shaker-1/),
  said('discover', /^NAME .*\nlab-pi-1 /),
  said(
    'init $home/new --data-dir $home/new --device shaker-1=bioshake@simulated',
    /^wrote .*new.config\.json: devices shaker-1\nthe first key, scope admin: bk_.*\nSave the key now/,
  ),
  refused('init $home/new --data-dir $home/new', 5, /config\.json has devices already and stays as it is/),
  said('config check $home/new/config.json', /is good: 1 devices/),
  refused('demo --port 70000', 2, /--port 70000 is not a port/),
  refused('serve --config $home/none.json --data-dir $home/other', 78, /none\.json/),
  refused('serve --config $home/config.json', 75, /another benchd runs on the data folder/),
  {
    line: 'serve --config $home/config.json --data-dir $home/other --host 127.0.0.1 --port 0',
    code: 130,
    out: /listens on http/,
    interrupted: true,
  },
]

const deviceScenes: readonly Scene[] = [
  said('devices', /^ID .*\nshaker-1 .*simulated/),
  said('devices list', /^ID .*\nshaker-1 .*simulated/),
  refused('devices show nothing', 3, /there is no device "nothing"; there is: shaker-1/),
  said('devices show shaker-1', /^shaker-1 {2}.*Plate shaker/),
  said('devices caps shaker-1', /shake +--speed --duration/),
  said('devices init shaker-1', /shaker-1/),
  said('devices initialize sealer-1', /sealer-1/),
  said('devices initialize centrifuge-1', /centrifuge-1/),
  said('devices initialized shaker-1', /^shaker-1: /),
  said('devices lock-plate shaker-1', /./),
  said('devices shake shaker-1 --speed 500 --duration 1', /./),
  refused('devices shake shaker-1 --speed fast --duration 1', 2, /--speed fast is not a number/),
  said('devices perform shaker-1 shake --speed 500 --duration 1', /shook at 500 rpm/),
  refused('devices accept shaker-1', 2, /shaker-1 does not describe itself/),
  said('devices unlock-plate shaker-1', /./),
  none('devices wire shaker-1 --fault', /no fault is latched/),
  said('devices wire shaker-1', /^\d{4}-.* [<>] /),
  said('devices set-temperature sealer-1 --temperature 60', /./),
  none('devices readings arm-1', /arm-1 has told no readings in the last hour/),
  said('devices get-temperature sealer-1', /^sealer-1: /),
  said('devices pose arm-1', /^arm-1: coord_type cartesian, x [\d.-]+, y [\d.-]+, z /),
  said('devices seal sealer-1 --temperature 60 --duration 1', /./),
  refused('devices peel shaker-1', 2, /shaker-1 cannot peel/),
  refused('jog shaker-1 x+', 2, /shaker-1 cannot jog/),
  refused('go-to shaker-1 pad_1', 2, /shaker-1 cannot go_to/),
  refused('free-drive shaker-1', 2, /shaker-1 cannot free_drive/),
  said('devices open centrifuge-1', /./),
  said('devices close centrifuge-1', /./),
  said('devices centrifuge centrifuge-1 --g 500 --duration 900', /./),
  said('devices lock shaker-1 --note calibration', /^shaker-1 is kept for .* until /),
  said('devices unlock shaker-1', /./),
  said('devices end shaker-1', /shaker-1 does nothing that could be ended/),
  said('devices stop shaker-1', /./),
  refused('devices clear-fault shaker-1', 5, /shaker-1/),
  said('stop shaker-1', /./),
  said('stop --all', /arm-1/),
  refused('stop', 2, /--all/),
  said('devices add arm-2 --driver external', /wrote .*config\.json/),
  said("devices set arm-2 --name 'Second arm'", /wrote .*config\.json/),
  said('devices remove arm-2', /wrote .*config\.json/),
  refused('devices remove arm-2', 3, /no device arm-2/),
]

const teachpointScenes: readonly Scene[] = [
  none('teachpoints list shaker-1', /shaker-1 has no teachpoint; to make one: benchd teachpoints set shaker-1 /),
  said('teachpoints list arm-1', /^NAME .*\n[\s\S]*pad_1 +cartesian/),
  said('teachpoints get arm-1 pad_1', /x 120 /),
  refused('teachpoints set arm-1 pad_9 --x 1', 2, /^benchd: --y is missing/),
  said('teachpoints set arm-1 pad_9 --x 1 --y 2 --z 3 --yaw 0 --pitch 0 --roll 0', /^pad_9 is new: x 1 /),
  said('teachpoints set arm-1 pad_9 --x 2', /^pad_9 is changed: x 2 /),
  said('teachpoints history arm-1 pad_9', /^VERSION .*\n\w{8} +\S+Z +\S+ +x 2 .*\n(?<first>\w{8}) +\S+Z +\S+ +x 1 /),
  said('teachpoints restore arm-1 pad_9 $first', /^pad_9 is as it was: x 1 /),
  said('teachpoints here arm-1 pad_9', /pad_9/),
  refused('teachpoints restore arm-1 pad_9 00000000', 3, /has no version 00000000/),
  said('teachpoints export arm-1 $home/points.json', /^13 points of arm-1/),
  said('teachpoints rm arm-1 pad_9 --yes', /pad_9/),
  { line: 'teachpoints diff arm-1 $home/points.json', code: 1, out: /^\+ pad_9/ },
  said('teachpoints import arm-1 $home/points.json --overwrite', /^1 created/),
  refused('teachpoints get arm-1 nowhere', 3, /nowhere/),
]

const runScenes: readonly Scene[] = [
  none('runs list', /there is no run yet; to start one: benchd runs submit /),
  none('runs steps', /no manual step waits/),
  none('labware list', /no labware is on the bench/),
  refused('runs list --limit many', 2, /--limit must be a whole number/),
  said('workflows put $home/patient.json', /^workflow patient on topology demo is kept\n$/),
  said('workflows put $home/by-hand.json', /by-hand/),
  said('workflows put $home/opens.json', /opens/),
  said('workflows list', /patient/),
  said('workflows show patient', /"name": "patient"/),
  said('runs simulate seal-and-spin --mode PURE_SIM', /^seal-and-spin {2}completes/),
  refused('runs simulate nothing', 3, /nothing/),
  said('runs submit seal-and-spin --mode PURE_SIM --follow', /execution {2}COMPLETED\n$/),
  said('runs submit patient', /^(?<run>[0-9a-f-]{36})\n$/),
  { path: '/api/executions/$run', until: /"thread_id":"(?<thread>[^"]+)".*"AWAITING_EVENT"/ },
  said('runs list', /patient +LIVE +running/),
  said('runs show $run', /AWAITING_EVENT/),
  said('runs why $run', /AWAITING_EVENT/),
  said('runs timeline $run', /^THREAD/),
  said('runs pause $run', /safe point/),
  said('runs resume $run', /resumed/),
  said('runs pause-thread $thread', /safe point/),
  said('runs resume-thread $thread', /^resumed\n$/),
  said(`runs insert $run '{"method": "note"}' --before ask`, /before plate\/ask/),
  said('runs note $run "lid pressed on" --tag deviation', /^the note is in the record of execution/),
  said('runs skip $run plate/note', /is skipped/),
  said('runs spawn $run lid', /^thread lid is there/),
  said('runs close $run', /no more submissions/),
  said('runs emit $run go', /^go is emitted\n$/),
  { path: '/api/operator/steps', until: /"step_id":"(?<step>[^"]+)"/ },
  said('runs steps', /^STEP .*\n.*look at the plate/),
  said('runs confirm $step', /./),
  { path: '/api/executions/$run', until: /"run_mode":"[A-Z_]+","status":"COMPLETED"/ },
  refused('runs stop-thread $thread', 5, /has ended/),
  refused('runs stop $run', 5, /has ended/),
  refused('runs pause patient', 5, /every run of patient has ended; see: benchd runs list/),
  said('runs delete patient --yes', /deleted/),
  refused('runs show $run', 3, /./),
  refused('runs delete patient --yes', 3, /there is no run "patient"/),
  none('runs list --status FAILED', /no run is FAILED/),
  said('labware list', /^ID .*\n(?:.*lid.*\n)?(?<plate>\w+) +plate/),
  said('labware put $plate --off', /plate/),
  said('runs submit by-hand', /^(?<hand>[0-9a-f-]{36})\n$/),
  { path: '/api/executions/$hand', until: /"thread_id":"(?<byhand>[^"]+)".*"AWAITING_MANUAL_PLACE"/ },
  said('runs placed $byhand', /^plate stands at pad_1\n$/),
  { path: '/api/executions/$hand', until: /"AWAITING_MANUAL_REMOVE"/ },
  said('runs removed $byhand', /^plate is taken away\n$/),
  said('runs submit patient --mode DEVICE_SIM', /^(?<rehearsal>[0-9a-f-]{36})\n$/),
  said('runs fault $rehearsal sealer-1 jam', /^sealer-1 has the fault jam\n$/),
  said('runs mend $rehearsal sealer-1', /^sealer-1 is mended\n$/),
  said('runs stop $rehearsal', /^armed/),
  said('runs stop $rehearsal --confirm', /aborted/),
  refused('labware put nothing pad_1', 3, /nothing/),
  said('workflows delete by-hand --yes', /by-hand/),
]

const heldScenes: readonly Scene[] = [
  said('devices init arm-1', /./),
  said('devices init sealer-1', /./),
  said('sim fault sealer-1 no_reply', /^sealer-1 has the fault no_reply\n$/),
  {
    line: 'runs submit opens --follow',
    code: 6,
    out: /^(?<opened>[0-9a-f-]{36})\n[\s\S]*plate {2}PAUSED/,
    err: /what to do: benchd runs why/,
  },
  { line: 'runs follow $opened', code: 6, out: /plate {2}PAUSED/, err: /the run stands: .*benchd runs why/ },
  said('sim mend sealer-1', /^sealer-1 is mended\n$/),
  said('incidents', /^ID .*\n(?<incident>\w+) .*sealer-1/),
  said('incidents list --new', /sealer-1/),
  refused('incidents show nothing', 3, /there is no incident "nothing"/),
  said('incidents show $incident', /seen by +nobody yet/),
  said('incidents ack $incident', /^seen by local\n$/),
  none('incidents list --new', /every incident is acknowledged/),
  refused('runs extend $incident 60', 3, /./),
  refused('runs abort-call $incident --yes', 3, /./),
  refused('runs complete-call $incident', 3, /./),
  { path: '/api/executions/$opened', until: /"thread_id":"(?<held>[^"]+)"/ },
  said('runs recover $held ABORT_THREAD', /ABORT_THREAD/),
]

const topologyScenes: readonly Scene[] = [
  said('topology list', /^NAME .*\ndemo +loaded/),
  said('topology show', /^demo\n/),
  said('topology unload --force', /./),
  said('topology load demo', /demo/),
]

const eventScenes: readonly Scene[] = [
  {
    line: 'events tail --types EXECUTION',
    code: 130,
    out: /COMPLETED/,
    meanwhile: [{ path: '/metrics', until: /^benchd_sse_clients [1-9]/m }, said('runs submit seal-and-spin --mode PURE_SIM', /./)],
    interrupted: true,
  },
  said('events since 1h', /EXECUTION/),
  none('events since 1h --types NOTHING', /the log has no such event/),
  refused('events since 1h --execution nothing', 3, /the log has no event of a run nothing; see: benchd runs list/),
  refused('events export --execution nothing', 3, /the log has no event of a run nothing/),
  said('events export', /^\{"event_name"/),
  said('events verify', /0 damaged lines/),
]

const accessScenes: readonly Scene[] = [
  said('key create --name guest --scope read', /^bk_(?<id>[a-z0-9]{8})_(?<secret>\S+)\n$/),
  said('whoami --url $url --key bk_$id_$secret', /guest/),
  refused('key list --url $url --key bk_$id_$secret', 4, /scope admin/),
  none('key requests', /nobody asks for a key/),
  refused('key revoke nothing --yes', 3, /no key of that id or name/),
  said('key list', /\n$id +read +valid/),
  said('key rotate $id --overlap 10', /^bk_/),
  said('key revoke $id --yes', /is revoked\n$/),
  {
    line: 'key pair --url $url --name notebook --scope operate',
    code: 0,
    out: /^bk_\S+$/,
    meanwhile: [
      { path: '/api/keys/requests', until: /"code":"(?<code>[^"]+)"/ },
      said('key requests', /^CODE .*\n$code +operate/),
      said('key approve $code', /./),
    ],
    interrupted: false,
  },
  said('audit tail', /^TIME .*\n/),
  said('audit verify', /0 places where the chain is broken/),
]

const instrumentScenes: readonly Scene[] = [
  said('ports --root $home', /^no serial port is there\n$/),
  { line: 'sim bioshake --pty', code: 0, out: /^\//, interrupted: true },
  refused('sim bioshake', 2, /--pty/),
  refused('replay $home/none.json --driver bioshake', 3, /none\.json/),
  refused('safe-off', 75, /a benchd runs on the data folder/),
]

const careScenes: readonly Scene[] = [
  said('backup $home/made.tar.gz', /made\.tar\.gz/),
  said('backup list', /./),
  said('restore $home/made.tar.gz --dry-run', /./),
  refused('restore $home/made.tar.gz --yes', 75, /a benchd runs on the data folder/),
  said('bundle $home/bundle.tar.gz', /bundle\.tar\.gz\n$/),
  none('notify list', /the configuration names no receiver/),
  refused('notify test', 5, /names no receiver/),
  said('lab status', /^this bench belongs to no lab/),
  said('lab init $home/lab --name floor-2 --bench pi-1 --host 127.0.0.1 --port 9', /^made a lab in .*\n.*\n.*nats-server/),
  said('lab init $home/lab --bench pi-2', /^added 1 benches to /),
  refused('lab init $home/none', 2, /has no lab yet; name it with --name/),
  refused('lab setup $home/lab', 1, /cannot be reached \(connection refused\)/),
  refused('lab events $home/lab', 1, /cannot be reached \(connection refused\)/),
  refused('lab demo --port nowhere', 2, /--port nowhere is not a port/),
  refused('lab check $home/none.json', 78, /none\.json/),
  refused('lab serve $home/none.json', 78, /none\.json/),
  ...[
    'start assay P-1',
    'journeys',
    'journey P-1',
    'why P-1',
    'decide P-1 end',
    'simulate assay',
    'tasks',
    'confirm 1a',
    'custody',
    'stop',
  ].map((line) => refused(`lab ${line} --data-dir $home/nowhere`, 69, /no service answers at the folder/)),
  refused('lab new-epoch --yes', 5, /this bench belongs to no lab/),
  said('logs', /^2026-11-20T\S+ info {2}started\n$/),
  refused('update $home/none.deb', 3, /none\.deb/),
  { line: 'doctor --root $home', code: 1, out: /./ },
  said('config check', /config\.json is good: 1 devices\n$/),
  refused('config check $home/none.json', 78, /none\.json/),
  said('config show', /^SETTING/),
  said('config set devices.arm-1.name Arm', /^wrote /),
  said('config reload', /./),
  said('completion bash', /complete/),
  said('man', /^\.TH BENCHD/),
  said('version', /^\d+\.\d+\.\d+\n$/),
  refused('man nothing', 2, /"nothing" is one word too many/),
  said('help', /^Usage: benchd <command>/),
]

/** Sorted in the order in which they happen on one bench. */
export const scenes: readonly Scene[] = [
  ...deviceScenes,
  ...teachpointScenes,
  ...runScenes,
  ...heldScenes,
  ...topologyScenes,
  ...eventScenes,
  ...accessScenes,
  ...instrumentScenes,
  ...careScenes,
  ...benchScenes,
]
