// How long a turn of a session takes, compared with the same session in one process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '@halting/journal'
import { ms, numberOf, table } from '../lib/measure.mjs'
import { sessionOf } from './play.mjs'

const origin = { cwd: '/', version: '0.0.0' }

export async function latency(bench) {
  const repeats = numberOf('repeats', 3)
  const play = { turns: 200 }
  const ways = {
    'in memory': () => inProcess({ ...play, writes: true }),
    'a file, a tool that writes': () => onDisk({ ...play, writes: true }),
    'a file, a tool that writes, money is limited': () => onDisk({ ...play, writes: true, isLimited: true }),
    'bare handler, a tool that writes': () => onCluster(bench, 'bare', { ...play, writes: true }),
    'cluster, a tool that reads': () => onCluster(bench, 'halting', play),
    'cluster, a tool that writes': () => onCluster(bench, 'halting', { ...play, writes: true }),
    'cluster, a tool that writes, money is limited': () => onCluster(bench, 'halting', { ...play, writes: true, isLimited: true }),
  }
  const turns = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
  for (let repeat = 0; repeat < repeats; repeat++) for (const [name, way] of Object.entries(ways)) turns[name].push(...turnsOf(await way()))
  const rows = Object.entries(turns).map(([name, all]) => [name, ...[0.5, 0.95].map((share) => ms(quantile(all, share)))])
  console.log(`### One session's turn\n\nFrom one request to the next, model and tool answer at once. ${repeats} sessions of ${play.turns} turns each, taken in turns.\n`)
  console.log(`${table(['', 'p50, ms', 'p95, ms'], rows)}\n`)
}

/** The first turns are not measured: the process is not warm yet. */
function turnsOf(marks) {
  return marks.slice(21).map((mark, index) => mark - marks[index + 20])
}

function quantile(all, share) {
  return all.toSorted((a, b) => a - b)[Math.floor((all.length - 1) * share)]
}

async function onCluster(bench, kind, play) {
  const key = bench.name()
  await bench.ask({ type: 'watch', key })
  await bench[kind](play, key)
  const { marks } = await bench.ask({ type: 'marks', key })
  return marks
}

async function inProcess(play, journal) {
  const marks = []
  const session = sessionOf(play, { sessionId: 'bench', journal, onModel: () => marks.push(performance.now()) })
  session.prompt('Go.')
  await session.settled()
  await session.close()
  return marks
}

async function onDisk(play) {
  const folder = mkdtempSync(join(tmpdir(), 'halting-bench-'))
  try {
    const journal = await openJournal({ path: join(folder, 'session.jsonl'), sessionId: 'bench', ...origin })
    const marks = await inProcess(play, journal)
    await journal.close()
    return marks
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
