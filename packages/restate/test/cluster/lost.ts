// A worker is killed and never returns at its address: its running, resting and waiting sessions continue at another one within 30 s, automatically. Then all are
// killed, and one that starts later takes over. Run by scripts/cluster.mjs: lost.js SERVER FOLDER; worker.js is in the same folder.
import { areWithin, LostFleet, secondsOf } from './lost-fleet.ts'
import { wait } from './server.ts'

const [program = '', folder = ''] = process.argv.slice(2)
const fleet = await LostFleet.start(program, folder)
const second = await fleet.worker()
const third = await fleet.worker()
// It registers last, so new sessions go there.
const first = await fleet.worker()

const named = (kind: string): readonly string[] => [1, 2, 3].map((number) => `${kind}-${number}`)
const [runs, tools, waits, rests] = [named('runs'), named('tool'), named('waits'), named('rests')]
const turns = 24
for (const session of runs) await fleet.prompt(session, 'm1', { turns, toolMs: 400 })
for (const session of waits) await fleet.prompt(session, 'm1', { turns: 1, asks: true })
for (const session of rests) await fleet.prompt(session, 'm1', { turns: 1 })
for (const session of tools) await fleet.prompt(session, 'm1', { turns: 1, toolMs: 5_000 })
for (const session of rests) await fleet.until(session, ({ state }) => state === 'idle')
for (const session of waits) await fleet.until(session, ({ state }) => state === 'requires_action')
const results = Promise.all(
  runs.map((session) => fleet.cluster.call(`halting_session/${session}/result`, { id: 'm1', wait: true })),
)
await wait(3_500)
const suspended = await fleet.cluster.query(
  "SELECT count(*) AS n FROM sys_invocation WHERE status = 'suspended' AND target_handler_name = 'work'",
)
fleet.expect(Number(suspended[0]?.['n']) === 3, `what waits for a person is suspended (${String(suspended[0]?.['n'])})`)

const deathMs = await fleet.kill(first)
const asked = Promise.all([
  ...waits.map((session) => fleet.allow(session, 'p0a', 'p0b')),
  ...rests.map((session) => fleet.prompt(session, 'm2', { turns: 1 })),
])
const status = fleet.cluster.call('halting_session/waits-1/status').then(() => (Date.now() - deathMs) / 1000)
const all = [...runs, ...tools, ...waits, ...rests]
const times = await fleet.wentOn(all, { sinceMs: deathMs, lost: [first], seconds: 45 })
fleet.expect(
  areWithin(times, 30),
  `each of 12 sessions goes on within 30 s of the death of its worker: ${secondsOf(times)}`,
)
await asked
fleet.expect((await status) <= 30, `a status that was asked then is answered (${(await status).toFixed(1)} s)`)
for (const session of [...tools, ...waits, ...rests]) {
  const { reason, state } = await fleet.until(session, (now) => now.state === 'idle')
  if (state !== 'idle' || reason !== 'completed') fleet.expect(false, `${session} ends (${state}, ${reason})`)
}
fleet.expect(true, 'those that waited, rested and called tools end')

const secondMs = await fleet.kill(second)
await fleet.kill(third)
await wait(3_000)
const fourth = await fleet.worker()
const startMs = Date.now()
const later = await fleet.wentOn(runs, { sinceMs: secondMs, lost: [first, second, third], seconds: 45 })
fleet.expect(
  areWithin(later, 30 + (startMs - secondMs) / 1000),
  `when all are dead, a worker that starts ${((startMs - secondMs) / 1000).toFixed(1)} s later takes them: ${secondsOf(later)}`,
)
for (const session of runs) {
  const { reason, state } = await fleet.until(session, (now) => now.state === 'idle')
  if (reason !== 'completed') fleet.expect(false, `${session} ends (${state}, ${reason})`)
}
const answers = (await results) as readonly { readonly state?: string }[]
fleet.expect(
  answers.every(({ state }) => state === 'answered'),
  `who waited for their results gets them (${answers.map(({ state }) => state).join(', ')})`,
)
await fleet.prompt('new', 'm1', { turns: 1 })
await fleet.until('new', ({ reason }) => reason !== undefined)
const ends = fleet.noted('ended')
fleet.expect(
  ends.some(({ session, pid }) => session === 'new' && pid === fourth.child.pid),
  'a new session goes there',
)
fleet.expectNothingTwice()
await fleet.end()
