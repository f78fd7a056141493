// What a loop costs on top of its model and its tools, which both answer at once. See README.md.
import { peerNames } from './lib/peers.mjs'
import { heading, measured, medians, ms, numberOf, table, textOf } from './lib/measure.mjs'

const sizes = textOf('sizes', '10,100,1000,10000').split(',').map(Number)
const repeats = numberOf('repeats', 7)
/** Milliseconds. A peer whose run takes longer is left out at that size; above a third of it, only one run is measured. */
const limitMs = numberOf('limit', 60) * 1_000

heading('Loop overhead')
console.log('One tool call a turn, a 1 KB result; every figure a median of fresh processes, peers taken in turns.\n')

/** @type {Map<string, Record<string, number>>} */
const figures = new Map()
for (const turns of sizes) {
  const samples = new Map(peerNames.map((peer) => [peer, []]))
  const done = new Set()
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const peer of peerNames) {
      if (done.has(peer)) continue
      const sample = await measured(['overhead', peer, String(turns)], limitMs)
      if (sample === undefined) done.add(peer)
      else samples.get(peer).push(sample)
      if (sample !== undefined && sample.totalMs > limitMs / 3) done.add(peer)
    }
  }
  for (const [peer, taken] of samples) if (taken.length > 0) figures.set(`${peer} ${turns}`, { ...medians(taken), runs: taken.length })
  const pi = figures.get(`pi ${turns}`)
  const rows = peerNames.map((peer) => {
    const own = figures.get(`${peer} ${turns}`)
    if (own === undefined) return [peer, `more than ${limitMs / 1_000} s`, '', '', '', '', '', '', '', '0']
    const ratio = (key) => (own[key] / pi[key]).toFixed(2)
    const times = ['totalMs', 'msPerTurn', 'lastMsPerTurn', 'cpuMsPerTurn'].map((key) => ms(own[key]))
    return [peer, ...times, own.maxRssMb.toFixed(0), ...['msPerTurn', 'lastMsPerTurn', 'cpuMsPerTurn'].map(ratio), String(own.runs)]
  })
  console.log(`### ${turns.toLocaleString('en-US')} turns\n`)
  console.log(table(['', 'total, ms', 'ms/turn', 'last 10 %', 'CPU ms/turn', 'max RSS, MB', 'ms/turn to pi', 'last 10 % to pi', 'CPU to pi', 'runs'], rows))
  console.log()
}

console.log('### Turns 1,000 to 3,000: everything is compiled\n')
const steady = new Map(peerNames.filter((peer) => !peer.startsWith('ai ')).map((peer) => [peer, []]))
for (let repeat = 0; repeat < repeats; repeat++) {
  for (const [peer, taken] of steady) taken.push(await measured(['steady', peer, '3000'], limitMs))
}
const steadyOf = (peer) => medians(steady.get(peer)).cpuMsPerTurn
console.log(table(['', 'CPU ms/turn', 'CPU to pi'], [...steady.keys()].map((peer) => [peer, ms(steadyOf(peer)), (steadyOf(peer) / steadyOf('pi')).toFixed(2)])))
console.log()

console.log('### A turn at 10,000 turns against one at 1,000\n')
const growth = peerNames.flatMap((peer) => {
  const [thousand, tenThousand] = [figures.get(`${peer} 1000`), figures.get(`${peer} 10000`)]
  if (thousand === undefined || tenThousand === undefined) return []
  const ratio = (key) => (tenThousand[key] / thousand[key]).toFixed(2)
  return [[peer, ratio('msPerTurn'), ratio('lastMsPerTurn'), ratio('cpuMsPerTurn')]]
})
console.log(table(['', 'whole run', 'last 10 %', 'CPU'], growth))
