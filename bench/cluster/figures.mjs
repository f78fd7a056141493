// The figures of bench/cluster.mjs, which runs this on a Node that the engine's SDK runs on: figures.mjs SERVER VERSION FOLDER [PART…]
import { join } from 'node:path'
import { heading } from '../lib/measure.mjs'
import { Bench } from './bench.mjs'
import { latency } from './latency.mjs'
import { steps } from './steps.mjs'
import { suspended } from './suspended.mjs'
import { waiting } from './waiting.mjs'
import { workers } from './workers.mjs'

const parts = { steps, latency, suspended, waiting, workers }
const [program, version, folder, ...given] = process.argv.slice(2)
const wanted = given.filter((each) => !each.startsWith('--'))
const unknown = wanted.filter((name) => !(name in parts))
if (unknown.length > 0) throw new Error(`There is no ${unknown.join(', ')}. Give some of ${Object.keys(parts).join(', ')}, or nothing for all.`)

heading(`On a cluster: one node of Restate ${version} with 4 partitions, on this machine`)
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const bench = await Bench.start(program, join(folder, name))
  try {
    await part(bench)
  } catch (error) {
    console.error(await bench.cluster.unfinished())
    throw error
  } finally {
    await bench.stop()
  }
}
process.exit(0)
