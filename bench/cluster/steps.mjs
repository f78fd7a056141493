// Steps per second, compared with a bare handler that has the same effects on the same node.
import { median, ms, numberOf, table } from '../lib/measure.mjs'

/** A step is one effect: a request to the model, or a call of a tool. */
const shapes = [
  { title: '1 session, a tool that reads', sessions: 1, play: { turns: 150 } },
  { title: '1 session, a tool that writes', sessions: 1, play: { turns: 150, writes: true } },
  { title: '200 sessions, a tool that reads', sessions: 200, play: { turns: 20 } },
  { title: '200 sessions, a tool that writes', sessions: 200, play: { turns: 20, writes: true } },
  { title: '200 sessions, a tool that writes, effects of 250 ms', sessions: 200, play: { turns: 10, writes: true, effectMs: 250 } },
]
const kinds = ['bare', 'halting']

export async function steps(bench) {
  const repeats = numberOf('repeats', 3)
  for (const kind of kinds) await sampleOf(bench, kind, { sessions: 20, play: { turns: 50, writes: true } })
  const rows = []
  for (const shape of shapes) {
    const samples = { bare: [], halting: [] }
    for (let repeat = 0; repeat < repeats; repeat++) for (const kind of kinds) samples[kind].push(await sampleOf(bench, kind, shape))
    const of = (kind, key) => median(samples[kind].map((sample) => sample[key]))
    // Ratios of neighboring measurements: other work of the machine affects both alike.
    const times = median(samples.bare.map(({ perSecond }, index) => perSecond / samples.halting[index].perSecond))
    rows.push([
      shape.title,
      ...kinds.map((kind) => of(kind, 'perSecond').toFixed(0)),
      times.toFixed(2),
      ...['workerCpuMs', 'serverCpuMs'].flatMap((key) => kinds.map((kind) => ms(of(kind, key)))),
    ])
  }
  console.log(`### Steps a second\n\nTurns of one request and one call, from prompt to result. Medians of ${repeats}, taken in turns; the ratio is the median of neighbours.\n`)
  console.log(`${table(['', 'bare handler', 'halting', 'times', 'worker CPU a step, bare, ms', 'halting', "server's CPU a step, bare, ms", 'halting'], rows)}\n`)
}

async function sampleOf(bench, kind, { sessions, play }) {
  const count = sessions * (2 * play.turns + 1)
  const before = bench.usage()
  const began = performance.now()
  await Promise.all(Array.from({ length: sessions }, () => bench[kind](play)))
  const perSecond = (count / (performance.now() - began)) * 1_000
  const after = bench.usage()
  const cpuOf = (who) => (after[who].cpuMs - before[who].cpuMs) / count
  return { perSecond, workerCpuMs: cpuOf('workers'), serverCpuMs: cpuOf('server') }
}
