// Sessions that wait for a person: how much memory they use, and how fast they continue.
import { sessionObject } from '@halting/restate'
import { numberOf, table } from '../lib/measure.mjs'
import { atOnce } from './bench.mjs'

const callId = `toolu_${'0'.repeat(24)}`
/** The engine removes a session from its worker when nothing has come for this long: `inactivityTimeout` of a session. */
const takenOutMs = 60_000

export async function suspended(bench) {
  const count = numberOf('sessions', 5_000)
  const play = { turns: 1, writes: true, asks: true }
  const warm = Array.from({ length: 100 }, (_, index) => `warm${index}`)
  await begin(bench, play, warm)
  await answer(bench, warm)
  const keys = Array.from({ length: count }, (_, index) => `waits${index}`)
  const rows = []
  const row = async (title, seconds) => {
    const { heapMb } = await bench.ask({ type: 'collect' })
    const { workers, server } = bench.usage()
    rows.push([title, seconds?.toFixed(1) ?? '', ...[workers.rssMb, heapMb, server.rssMb].map((mb) => mb.toFixed(0))])
    return { worker: heapMb, rss: workers.rssMb, server: server.rssMb }
  }
  const before = await row('before')
  let began = performance.now()
  const since = () => (performance.now() - began) / 1_000
  await begin(bench, play, keys)
  await row(`${count} wait, the last of them since a moment ago`, since())
  const left = await untilTakenOut(bench)
  const after = await row(left === 0 ? 'all are suspended' : `all but ${left} are suspended`)
  began = performance.now()
  await answer(bench, keys)
  await row('all are answered, and have ended', since())
  console.log(`### ${count.toLocaleString('en-US')} sessions that wait for a person\n`)
  console.log(`${table(['', 'seconds', 'RSS of the worker, MB', 'its heap, MB', 'RSS of the server, MB'], rows)}\n`)
  const each = (from) => (((after[from] - before[from]) * 1_024) / count).toFixed(1)
  console.log(`A suspended session: ${each('worker')} KB of the worker's heap, ${each('server')} KB of the server, whose caches are in that.\n`)
}

async function begin(bench, play, keys) {
  await atOnce(keys.length, 200, (index) => bench.prompt(play, keys[index]))
  await atOnce(keys.length, 50, async (index) => {
    for (let tries = 0; ; tries++) {
      const { state } = await bench.post(`${sessionObject}/${keys[index]}/status`)
      if (state === 'requires_action') return
      if (tries > 2_000) throw new Error(`${keys[index]} is ${state}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })
}

/** Waits a little longer than the engine. Returns how many sessions it has not removed. */
async function untilTakenOut(bench) {
  for (let left = 45; ; left--) {
    const [{ count }] = await bench.cluster.query("select count(*) as count from sys_invocation where status <> 'completed' and status <> 'suspended'")
    if (count === 0 || left === 0) return count
    await new Promise((resolve) => setTimeout(resolve, takenOutMs / 20))
  }
}

async function answer(bench, keys) {
  await atOnce(keys.length, 200, async (index) => {
    await bench.post(`${sessionObject}/${keys[index]}/approve`, { id: 'a', callId })
    await bench.ended(keys[index])
  })
}
