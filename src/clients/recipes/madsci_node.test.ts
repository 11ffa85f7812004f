// The node for MADSci, on a stand-in of its library. `MADSCI` may name a checkout of MADSci, whose names are then compared with the stand-in.

import { execFileSync } from 'node:child_process'
import { test } from 'tap'
import { demo } from '../../testing/cli.ts'
import { openService } from '../../testing/http.ts'
import { noPython, withPython } from '../../testing/python.ts'
import { mistakesIn, noMypy, ranRecipe, sourceOf } from '../../testing/recipes.ts'

const { MADSCI } = process.env

/** Makes the node, and runs actions of it in threads. */
const begun = `
import threading
from madsci_node import BenchNode
from madsci.common.types.action_types import ActionRequest
node = BenchNode(bench)
def run(name, **args):
    result = node.run_action(ActionRequest(name, args))
    return [result.status, result.json_result, *([error.error_type, error.message] for error in result.errors)]
def begin(name, **args):
    results = []
    thread = threading.Thread(target=lambda: results.append(run(name, **args)))
    thread.start()
    def end():
        thread.join()
        return results[0]
    return end
def command(name):
    answer = node.run_admin_command(name)
    return [answer.success, *(error.message for error in answer.errors)]
def state(wanted, device="shaker-1"):
    for kind, id, value in bench.live():
        if (kind, id) == ("device", device) and value["state"] == wanted: return
`

withPython('each operation of a device is an action with its parameters, and what a person holds or stops is none', async (t) => {
  const { url, secrets } = await openService(t)
  const program = `
say([name for name, action in node.actions.items() if not action.blocking] == list(node.actions))
say({name: vars(argument) for name, argument in node.actions["shaker_1_shake"].args.items()})
say({name: vars(argument) for name, argument in node.actions["shaker_1_set_temperature"].args.items()})
say(sorted(name for name in node.actions if name.startswith("arm_1_") or "1" not in name))
say({name: [argument.required, argument.default] for name, argument in node.actions["arm_1_go_to"].args.items()})
say({name: [argument.argument_type, argument.required] for name, argument in node.actions["run_workflow"].args.items()})
`
  const said = await ranRecipe(t, { url, key: secrets.read }, `${begun}${program}`)
  t.same(said, [
    true,
    {
      speed: { argument_type: 'int', required: true, default: null, description: 'Speed of the shaker, 200 to 3000 rpm' },
      duration: { argument_type: 'int', required: true, default: null, description: 'Time of shaking, 1 to 99999 s' },
    },
    {
      temperature: {
        ...{ argument_type: 'float', required: false, default: null },
        description: 'Target temperature, or null for no heat, 0 to 99 °C',
      },
    },
    ['arm_1_go_to', 'arm_1_initialize', 'run_workflow', 'wait_for_run'],
    { teachpoint: [true, null], offset_z: [false, 0] },
    { workflow: ['str', true], variables: ['Dict', false], mode: ['str', false] },
  ])
})

withPython('an action shakes, and one that fails has the sentence of the bench and leaves the node ready', async (t) => {
  const { url, secrets } = await openService(t)
  const program = `
say(run("shaker_1_shake", speed=500, duration=10))
say(command("reset"), run("shaker_1_lock_plate")[0])
done = run("shaker_1_shake", speed=500, duration=10)
say(done[0], done[1]["message"], sorted(done[1]))
say(run("shaker_1_shake", speed=5, duration=10))
say(run("shaker_1_set_temperature", temperature=float("nan"))[2][0])
bench.request("POST", "/api/sim/devices/sealer-1/faults", {"fault": "jam"})
say(run("sealer_1_seal", temperature=170, duration=3))
say(node.node_status.ready)
node.status_handler()
say(node.node_state["devices"]["sealer-1"]["state"], node.node_state["runs"], node.node_status.ready)
say(command("get_location"))
def answer(*failed):
    ids = ["shaker-1", "sealer-1"]
    node.bench.stop = lambda: {"success": not failed, "devices": [{"device_id": id, "success": id not in failed, "message": "no answer yet"} for id in ids]}
    return command("safety_stop")
say(answer(), answer("sealer-1"))
`
  const said = await ranRecipe(t, { url, key: secrets.admin }, `${begun}${program}`)
  t.match(said, [
    ['failed', null, ['Refused', 'shaker-1 is not initialized; POST /api/devices/shaker-1/initialize first']],
    ...[[true], 'succeeded'],
    ...['succeeded', 'shaker-1: shook at 500 rpm for 10 s', ['data', 'message', 'operation_id']],
    ['failed', null, ['Refused', 'speed 5 rpm is outside what shaker-1 takes: 200 to 3000 rpm']],
    'ValueError',
    ['failed', null, ['DeviceFailed', /^sealer-1 reports error 12 \(shuttle jammed\)\. Read .*, then initialize the device\.$/]],
    true,
    ...['faulted', [], true],
    [false, /get_location/],
    ...[[true], [false, 'sealer-1 did not confirm the stop: no answer yet']],
  ])
})

withPython(
  'a stop ends the action as failed and the node takes no further one until a reset; cancel ends it in an orderly way',
  async (t) => {
    const { url, secrets } = await openService(t, { time_scale: 100 })
    const program = `
command("reset")
run("shaker_1_lock_plate")
end = begin("shaker_1_shake", speed=500, duration=90000)
state("busy")
# On a busy computer an instrument may confirm the stop later than the answer waits.
command("safety_stop")
say(node.node_status.ready)
say(end())
say(run("shaker_1_shake", speed=500, duration=10)[0])
node.status_handler()
say(node.node_status.stopped, bench["arm-1"].info()["state"])
say(command("reset"), node.node_status.stopped, bench["arm-1"].info()["state"])
end = begin("shaker_1_shake", speed=500, duration=90000)
state("busy")
say(command("cancel"), end(), bench["shaker-1"].info()["state"])
say(command("cancel"))
`
    const said = await ranRecipe(t, { url, key: secrets.operate }, `${begun}${program}`)
    t.match(said, [
      false,
      ['failed', null, ['DeviceFailed', 'shake of shaker-1: stopped; see that it is safe, then reset the node']],
      'not_ready',
      ...[true, 'stopped'],
      ...[[true], false, 'ready'],
      ...[[true], ['cancelled', null, ['EndedEarly', 'shake of shaker-1 was ended early.']], 'ready'],
      [true],
    ])
  },
)

withPython('a stop during a reset ends it, and no device that somebody initializes makes a stopped node ready', async (t) => {
  const { url, secrets } = await openService(t, { time_scale: 20 })
  const program = `
said = []
resetting = threading.Thread(target=lambda: said.append(command("reset")))
resetting.start()
state("busy")
command("safety_stop")
resetting.join()
say(said[0][0], sorted({bench[each["device_id"]].info()["state"] for each in bench.devices() if each["type"] != "transporter"}))
bench["shaker-1"].initialize()
node.status_handler()
say(node.node_status.ready, run("shaker_1_lock_plate")[0])
say(command("reset"), node.node_status.ready)
`
  t.match(await ranRecipe(t, { url, key: secrets.operate }, `${begun}${program}`), [
    ...[false, ['stopped']],
    ...[false, 'not_ready'],
    ...[[true], true],
  ])
})

withPython('an action waits through a loss of the network, and is cancelled before the bench has answered', async (t) => {
  const { url, secrets } = await openService(t, { time_scale: 100 })
  const program = `
from benchd import Operation, Unreachable
command("reset")
run("shaker_1_lock_plate")
waited = Operation.wait
def lost(operation):
    Operation.wait = waited
    raise Unreachable("the network is gone", reason="unreachable")
Operation.wait = lost
say(run("shaker_1_shake", speed=500, duration=10)[0])
asked = node.bench.request
def late(method, path, *more, **how):
    if path.endswith("/shake"): command("cancel")
    return asked(method, path, *more, **how)
node.bench.request = late
say(run("shaker_1_shake", speed=500, duration=90000)[0], bench["shaker-1"].info()["state"])
`
  t.same(await ranRecipe(t, { url, key: secrets.operate }, `${begun}${program}`), ['succeeded', ...['cancelled', 'ready']])
})

withPython('a queue that was paused again since the pause of the node stays paused', async (t) => {
  const { url, key } = await demo(t, { scale: 20 })
  const program = `
say(command("pause"))
bench.resume_queue()
bench.pause_queue()
say(command("resume"), bench.queue()["paused"] is not None)
say(command("resume"))
`
  t.match(await ranRecipe(t, { url, key }, `${begun}${program}`), [[true], ...[[false, /paused again/], true], [true]])
})

withPython('a workflow is an action: it is paused, goes on, is held by an error, waited for again, and aborted', async (t) => {
  const { url, key } = await demo(t, { scale: 20 })
  const program = `
command("reset")
run("shaker_1_lock_plate")
say(run("run_workflow", workflow="nope")[0])
rehearsed = run("run_workflow", workflow="seal-and-spin", variables={"speed": 600}, mode="PURE_SIM")
say(rehearsed[0], rehearsed[1]["status"])
def paused(): return [run["paused"] is not None for run in bench.runs(status="IN_PROGRESS")]
events = bench.events(since="0")
end = begin("run_workflow", workflow="seal-and-spin")
while not bench.runs(status="IN_PROGRESS"): next(events)
say(command("pause"), node.node_status.ready, paused(), bench.queue()["paused"] is not None)
say(command("resume"), node.node_status.ready, paused(), bench.queue()["paused"])
command("safety_stop")
held = end()
say(held[0], held[1]["status"], held[2])
say(command("reset"))
execution_id = held[1]["execution_id"]
bench.run(execution_id).stop()
say(run("wait_for_run", execution_id=execution_id))
`
  const said = await ranRecipe(t, { url, key }, `${begun}${program}`)
  t.match(said, [
    'failed',
    ...['succeeded', 'COMPLETED'],
    ...[[true], false, [true], true],
    ...[[true], true, [false], null],
    ...['failed', 'IN_PROGRESS', ['Held', /^The run \w{8} of seal-and-spin is held by an error. plate: .*wait_for_run waits for that\.$/]],
    [true],
    ['cancelled', { status: 'ABORTED' }, ['Aborted', /^The run \w{8} of seal-and-spin was aborted\.$/]],
  ])
})

withPython('a bench that does not answer makes the node disconnected, and the node recovers with it', async (t) => {
  const { url, secrets } = await openService(t)
  const said = await ranRecipe(
    t,
    { url, key: secrets.operate, retry_s: 0 },
    `${begun}
node.bench = Bench("http://127.0.0.1:9", "bk_none")
node.status_handler()
say(node.node_status.disconnected, node.node_status.ready, node.node_state["error"], run("shaker_1_initialize")[0])
node.bench = bench
node.status_handler()
say(node.node_status.disconnected, sorted(node.node_state), run("shaker_1_initialize")[0])
`,
  )
  t.match(said, [...[true, false, /^127.0.0.1:9 does not answer/, 'not_ready'], ...[false, ['devices', 'runs'], 'succeeded']])
})

test('the recipe passes mypy --strict on the stand-in, and a wrong call is found', { skip: noMypy }, (t) => {
  const program = 'from benchd import Bench\nfrom madsci_node import BenchNode\nnode = BenchNode(Bench.from_env())\nnode.start_node()\n'
  const [mistake, ...others] = mistakesIn(t, 'madsci_node.py', `${program}BenchNode("http://bench-1")\n`)
  t.match(mistake, /program\.py:5: error: .* incompatible type "str"/)
  t.same(others, [])
  t.end()
})

/** Says what the sources of MADSci have under the names that the recipe and the stand-in use. MADSci itself needs packages that Debian does not have. */
const namesOf = `
import ast, json, pathlib, sys
top = pathlib.Path(sys.argv[1])
def classes(path):
    tree = ast.parse((top / path).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
def members(node):
    methods = {each.name: [argument.arg for argument in each.args.args] for each in node.body if isinstance(each, ast.FunctionDef)}
    fields = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
    values = [each.value.value for each in node.body if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)]
    return {"methods": methods, "fields": fields, "values": values, "bases": [base.id for base in node.bases if isinstance(base, ast.Name)]}
found = {}
for path in sys.argv[2:]: found.update({name: members(node) for name, node in classes(path).items()})
print(json.dumps(found))
`
const [types, node] = ['src/madsci_common/madsci/common/types', 'src/madsci_node_module/madsci/node_module']
const paths = [
  ...['action_types', 'admin_command_types', 'base_types', 'node_types'].map((name) => `${types}/${name}.py`),
  ...['abstract_node_module', 'rest_node_module'].map((name) => `${node}/${name}.py`),
]

test('MADSci has the names of the stand-in', { skip: noPython || (!MADSCI && 'MADSCI names no checkout') }, (t) => {
  type Members = { methods: Record<string, string[]>; fields: string[]; values: string[]; bases: string[] }
  const found = JSON.parse(execFileSync('python3', ['-c', namesOf, MADSCI!, ...paths], { encoding: 'utf8' })) as Record<string, Members>
  const fields = (name: string, ...wanted: string[]) =>
    t.ok(
      wanted.every((each) => found[name]?.fields.includes(each)),
      name,
    )
  fields('Error', 'message', 'error_type')
  fields('AdminCommandResponse', 'success', 'errors', 'data')
  fields('ActionRequest', 'action_name', 'args', 'action_id')
  fields('ActionResult', 'status', 'action_id', 'errors', 'json_result')
  fields('NodeStatus', 'busy', 'paused', 'locked', 'stopped', 'errored', 'disconnected')
  for (const name of ['ActionSucceeded', 'ActionFailed', 'ActionCancelled', 'ActionNotReady']) t.same(found[name]?.bases, ['ActionResult'])
  t.same(found.RestNode?.bases, ['AbstractNode'])
  const methods = { ...found.AbstractNode?.methods, ...found.RestNode?.methods }
  t.match(methods, {
    status_handler: ['self'],
    run_action: ['self', 'action_request'],
    run_admin_command: ['self', 'admin_command'],
    ...{ reset: ['self'], shutdown: ['self', 'background_tasks'], lock: ['self'], unlock: ['self'] },
  })
  t.same(
    ['safety_stop', 'pause', 'resume', 'cancel', 'follow', 'bench'].filter((name) => name in methods),
    [],
    'the recipe replaces no method of MADSci but `reset` and `status_handler`',
  )
  const [, commands = ''] = /ADMIN_COMMANDS = \((.*)\)/.exec(sourceOf('testing/stand_ins/madsci/common/types/admin_command_types.py'))!
  t.same(found.AdminCommands?.values, commands.replaceAll('"', '').split(', '))
  t.end()
})
