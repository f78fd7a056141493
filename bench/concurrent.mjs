// Many loops at once in one process: their cost on top of 5 ms for the model and 5 ms for the tool. See README.md.
import { peerNames } from './lib/peers.mjs'
import { heading, measured, medians, ms, numberOf, table } from './lib/measure.mjs'

const repeats = numberOf('repeats', 5)
const loops = numberOf('loops', 1_000)

heading(`${loops.toLocaleString('en-US')} loops at once, 10 tool turns each, 5 ms model, 5 ms tool`)
const samples = new Map(peerNames.map((peer) => [peer, []]))
for (let repeat = 0; repeat < repeats; repeat++) {
  for (const peer of peerNames) {
    const sample = await measured(['concurrent', peer, `${loops}x10`])
    if (sample !== undefined) samples.get(peer).push(sample)
  }
}
const pi = medians(samples.get('pi'))
const rows = peerNames.map((peer) => {
  const taken = samples.get(peer)
  if (taken.length === 0) return [peer, 'more than 120 s', '', '', '', '', '']
  const own = medians(taken)
  const ratios = ['totalMs', 'cpuMs', 'maxRssMb'].map((key) => (own[key] / pi[key]).toFixed(2))
  return [peer, ms(own.totalMs), ms(own.cpuMs), own.maxRssMb.toFixed(0), ...ratios]
})
console.log(table(['', 'wall, ms', 'CPU, ms', 'max RSS, MB', 'wall to pi', 'CPU to pi', 'RSS to pi'], rows))
console.log('\nNo loop can be done before 11 × 5 + 10 × 5 = 105 ms.')

const suspendable = peerNames.filter((peer) => !peer.startsWith('ai '))
const suspended = []
for (const peer of suspendable) {
  const row = [peer]
  for (const shape of ['1000', '1000:tool']) {
    const taken = []
    for (let repeat = 0; repeat < Math.min(repeats, 3); repeat++) taken.push(await measured(['suspended', peer, shape]))
    row.push(medians(taken).kbALoop.toFixed(1))
  }
  suspended.push(row)
}
console.log(`\n${table(['', 'kB a loop that waits for its model', 'kB a loop that waits for a tool'], suspended)}`)
