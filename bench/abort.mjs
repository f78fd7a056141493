// From an abort to the end, with a tool or a model that does not heed its signal for 2 s. See README.md.
import { heading, measured, medians, ms, numberOf, table } from './lib/measure.mjs'
import { peerNames } from './lib/peers.mjs'

const repeats = numberOf('repeats', 5)
const measuredPeers = peerNames.filter((peer) => peer !== 'pi, no filter')

heading('Abort to settled (halting: graceMs 0)')
for (const what of ['tool', 'model']) {
  const samples = new Map(measuredPeers.map((peer) => [peer, []]))
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const peer of measuredPeers) samples.get(peer).push(await measured(['abort', peer, what]))
  }
  const rows = measuredPeers.map((peer) => {
    const taken = samples.get(peer)
    const worst = Math.max(...taken.map(({ settledMs }) => settledMs))
    const startedAfter = Math.max(...taken.map((sample) => sample.startedAfter))
    return [peer, ms(medians(taken).settledMs), ms(worst), String(startedAfter), taken[0].ending]
  })
  console.log(`### A ${what} that is deaf for 2 s\n`)
  console.log(table(['', 'median, ms', 'worst, ms', 'tools started after', 'ended as'], rows))
  console.log()
}
