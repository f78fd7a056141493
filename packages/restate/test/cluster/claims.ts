// Two workers claim the same sessions: those of a lost worker, which both may take one by one, and running sessions, which are bound to each in turn. Run by
// scripts/cluster.mjs: claims.js SERVER FOLDER; worker.js is in the same folder.
import { areWithin, LostFleet, secondsOf } from './lost-fleet.ts'
import { wait } from './server.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const fleet = await LostFleet.start(program, folder)
const { cluster } = fleet
// Neither worker has the folder of the session "alone".
const claimants = [
  await fleet.worker(undefined, { CAN_OPEN: '^s-' }),
  await fleet.worker(undefined, { CAN_OPEN: '^s-' }),
]
const lost = await fleet.worker()

const turns = 20
const sessions = [1, 2, 3, 4, 5, 6].map((number) => `s-${number}`)
for (const session of sessions) await fleet.prompt(session, 'm1', { turns, toolMs: 300 })
await fleet.prompt('alone', 'm1', { turns, toolMs: 300 })
await wait(2_000)
const deathMs = await fleet.kill(lost)
const times = await fleet.wentOn(sessions, { sinceMs: deathMs, lost: [lost], seconds: 45 })
fleet.expect(areWithin(times, 30), `sessions that both could take go on within 30 s: ${secondsOf(times)}`)
const waiting = await fleet.until('alone', ({ stalled }) => stalled?.kind === 'worker_lost', 20)
fleet.expect(
  waiting.stalled?.worker?.startsWith(lost.url) === true && Math.abs((waiting.stalled.sinceMs ?? 0) - deathMs) < 5_000,
  `one that neither can open says what it waits for: ${waiting.stalled?.message}`,
)
const again = await fleet.worker(lost.port)
const back = await fleet.wentOn(['alone'], { sinceMs: deathMs, lost: [lost], seconds: 60 })
const byItself = fleet.noted('open').at(-1)
fleet.expect(
  byItself?.session === 'alone' && byItself.pid === again.child.pid,
  `it goes on when that one is back: ${secondsOf(back)}`,
)

// Two at the same time pause each session and bind it to the other worker.
const names = await cluster.query('SELECT id, endpoint FROM sys_deployment')
const nameOf = (url: string): string => String(names.find(({ endpoint }) => String(endpoint).startsWith(url))?.['id'])
const claim = async (url: string): Promise<void> => {
  const rows = await cluster.query(
    "SELECT id FROM sys_invocation WHERE target_handler_name = 'work' AND target_service_key LIKE 's-%'",
  )
  for (const { id } of rows)
    for (const change of ['pause', `resume?deployment=${nameOf(url)}`])
      await fetch(`${cluster.admin()}/invocations/${String(id)}/${change}`, { method: 'PATCH' })
}
for (let round = 0; round < 5; round++) {
  await Promise.all(claimants.map(({ url }) => claim(url)))
  await wait(400)
}
for (let left = 40; left > 0; left--) {
  // Work that one of them paused last was not resumed.
  const paused = await cluster.query("SELECT id FROM sys_invocation WHERE status = 'paused'")
  for (const { id } of paused) await fetch(`${cluster.admin()}/invocations/${String(id)}/resume`, { method: 'PATCH' })
  await wait(250)
}
for (const session of [...sessions, 'alone']) {
  const { reason, state } = await fleet.until(session, (now) => now.state === 'idle')
  if (reason !== 'completed') fleet.expect(false, `${session} ends (${state}, ${reason})`)
}
fleet.expect(true, 'each of them ends')
fleet.expectNothingTwice()
const ends = fleet.noted('ended').length
fleet.expect(ends === 7, `each ends once (${ends} ends of 7 sessions)`)
await fleet.end()
