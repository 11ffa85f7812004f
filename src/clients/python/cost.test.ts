// What the Python client costs a program: CPU beside the plainest program that does the same, in one process after the other, so that a slow
// machine slows down both. The best of some rounds counts.

import { t as file } from 'tap'
import { openService } from '../../testing/http.ts'
import { printed, withPython } from '../../testing/python.ts'

// A slow machine is not a failure.
file.setTimeout(0)

withPython(
  'of 5,000 events a second none is lost, with a cursor, and one costs at most 3 × readline and json.loads of the same bytes',
  async (t) => {
    const { url, secrets } = await openService(t)
    const program = `
import io, time
from functools import partial
def load():
    time.sleep(0.1)
    bench.request("POST", "/api/sim/load", {"rate": 5000, "seconds": 1})
def live():
    import threading
    threading.Thread(target=load).start()
    wanted = 0
    for event in bench.events(file="cursor.json"):
        if event["event_name"] != "SIM.load.EMITTED": continue
        if wanted == 0: began = time.process_time()
        assert event["context"]["n"] == wanted, event
        wanted += 1
        if wanted == 5000: return time.process_time() - began
def plain():
    connection = bench._service.connect()
    connection.request("GET", "/events/stream", headers=bench._service.headers({"Last-Event-ID": "0"}))
    response = connection.getresponse()
    came = b""
    while came.count(b"\\ndata: ") < 5000: came += response.read1(1000000)
    lines = io.BytesIO(came)
    began = time.process_time()
    for _ in range(5000):
        line = lines.readline()
        while not line.startswith(b"data: "): line = lines.readline()
        json.loads(line[6:])
    return time.process_time() - began
say(min(live() for _ in range(3)) / min(plain() for _ in range(3)))
`
    const [ratio] = await printed(t, { url, key: secrets.operate }, program)
    t.comment(`${ratio} × the plain program`)
    t.ok(Number(ratio) <= 3, `${ratio} ≤ 3`)
  },
)

withPython('the import costs at most 1.3 × that of the modules which any client needs', async (t) => {
  const program = `
import resource, subprocess, sys
def cost(what):
    spent = []
    for _ in range(8):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", what], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return sum(sorted(spent)[:4])
say(cost("import benchd") / cost("import http.client, ssl, json"))
say(subprocess.run([sys.executable, "-c", "import benchd, sys; print('asyncio' in sys.modules)"], capture_output=True, text=True).stdout)
`
  const [ratio, asyncio] = await printed(t, { url: 'http://127.0.0.1:9', key: 'bk_x' }, program)
  t.comment(`${ratio} × the plain import`)
  t.ok(Number(ratio) <= 1.3, `${ratio} ≤ 1.3`)
  t.equal(asyncio, 'False\n', 'asyncio is loaded when it is first used')
})
