// A worker is stopped (SIGSTOP) until it is considered lost, and continued (SIGCONT): nothing is done twice, and it is a worker again. Run by
// scripts/cluster.mjs: zombie.js SERVER FOLDER; worker.js is in the same folder.
import { areWithin, LostFleet, secondsOf } from './lost-fleet.ts'
import { wait } from './server.ts'

const [program = '', folder = ''] = process.argv.slice(2)
// As docs/guide/operating.md says: within this time the engine notices that a machine is silent.
process.env['RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL'] = '10s'
process.env['RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT'] = '10s'
const fleet = await LostFleet.start(program, folder)
await fleet.worker()
const zombie = await fleet.worker()

const turns = 40
const runs = ['runs-1', 'runs-2', 'runs-3']
for (const session of runs) await fleet.prompt(session, 'm1', { turns, toolMs: 200 })
await fleet.prompt('tool', 'm1', { turns: 1, toolMs: 20_000 })
await fleet.prompt('waits', 'm1', { turns: 1, asks: true })
await fleet.until('waits', ({ state }) => state === 'requires_action')
await wait(3_000)

zombie.child.kill('SIGSTOP')
const stopMs = Date.now()
const moving = [...runs, 'tool', 'waits']
const asked = fleet.allow('waits', 'p0a', 'p0b')
const times = await fleet.wentOn(moving, { sinceMs: stopMs + 1, lost: [zombie], seconds: 50 })
fleet.expect(areWithin(times, 30), `its sessions go on elsewhere within 30 s: ${secondsOf(times)}`)
await asked
zombie.child.kill('SIGCONT')
const awakeMs = Date.now()
for (const session of moving) {
  const { reason, state } = await fleet.until(session, (now) => now.state === 'idle')
  fleet.expect(reason === 'completed', `${session} ends (${state}, ${reason})`)
}
const byZombie = fleet.noted().filter(({ atMs, pid }) => pid === zombie.child.pid && atMs >= awakeMs)
const taken = new Set(
  fleet
    .noted('open')
    .filter(({ pid }) => pid !== zombie.child.pid)
    .map(({ session }) => session),
)
const deeds = byZombie.filter(({ what, session }) => (what === 'paid' || what === 'ended') && taken.has(session))
fleet.expect(
  deeds.filter(({ what }) => what === 'ended').length === 0,
  `the zombie ends none of them (${deeds.length} calls that it had begun to make)`,
)
fleet.expect(
  byZombie.some(({ what, session }) => what === 'aborted' && session === 'tool'),
  'the tool that it had under way is aborted',
)
fleet.expectNothingTwice()
const made = new Set(fleet.paid)
const missing = runs.length * turns * 2 + 4 - made.size
fleet.expect(missing >= 0 && missing <= runs.length * 2, `no call is missing but those under way (${missing})`)
const ready = await untilReady(zombie.url)
fleet.expect(ready, 'it is ready again, by itself')
await fleet.end()

async function untilReady(url: string): Promise<boolean> {
  for (let left = 60; left > 0; left--) {
    const response = await fetch(`${url}/ready`).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.ok === true) return true
    await wait(250)
  }
  return false
}
