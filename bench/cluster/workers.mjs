// Sessions per minute with more workers.
import { median, numberOf, table } from '../lib/measure.mjs'

const play = { turns: 10, writes: true, effectMs: 100 }
const counts = [1, 2, 4]
const sessions = 128
/** The default of `halting serve`. */
const atOnce = 16

export async function workers(bench) {
  const repeats = Math.min(2, numberOf('repeats', 2))
  const rows = []
  let one
  for (const count of counts) {
    await bench.employ(count, [String(atOnce)])
    await sampleOf(bench, 16)
    const samples = []
    for (let repeat = 0; repeat < repeats; repeat++) samples.push(await sampleOf(bench, sessions))
    const perMinute = median(samples.map((sample) => sample.perMinute))
    one ??= perMinute
    const shares = samples.at(-1).shares.map((share) => `${Math.round(share * 100)} %`)
    rows.push([String(count), perMinute.toFixed(0), (perMinute / one).toFixed(2), shares.join(', ')])
  }
  console.log(`### More workers\n\n${sessions} sessions of ${play.turns} turns that all begin now; each worker has ${atOnce} at a time. Model and tool take ${play.effectMs} ms each. Means of ${repeats}.\n`)
  console.log(`${table(['workers', 'sessions a minute', 'to one', "each one's share of their CPU time"], rows)}\n`)
}

async function sampleOf(bench, count) {
  const cpus = () => bench.workers.ready.map((worker) => bench.cpuMsOf(worker))
  const before = cpus()
  const began = performance.now()
  await Promise.all(Array.from({ length: count }, () => bench.halting(play)))
  const perMinute = (count / (performance.now() - began)) * 60_000
  const spent = cpus().map((cpu, index) => cpu - before[index])
  const all = spent.reduce((sum, cpu) => sum + cpu, 0)
  return { perMinute, shares: spent.map((cpu) => cpu / all) }
}
