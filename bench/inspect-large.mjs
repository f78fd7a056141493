// One session of 100,000 records in the inspector: CPU of its server until the first screen is there, and until the whole session is.
// `node bench/inspect-large.mjs [--repeats=7] [--turns=20000] [--bytes=200] [--before=FOLDER]`; needs a build of each, and Linux.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { everything, firstScreen, otherTabs } from './lib/inspector-client.mjs'
import { heading, medians, numberOf, table, textOf } from './lib/measure.mjs'

const repeats = numberOf('repeats', 7)
const turns = numberOf('turns', 20_000)
const resultBytes = numberOf('bytes', 200)
const before = textOf('before', '')
const given = textOf('file', '')
const own = fileURLToPath(new URL('..', import.meta.url))
// In the older of the two formats, which this version reads, too.
const { writeSession } = await import(pathToFileURL(join(before === '' ? own : before, 'bench/lib/sessions.mjs')).href)
const kinds = [...(before === '' ? [] : [['before', before]]), ['now', own]]
/** Ticks of /proc/PID/stat are hundredths of a second on every Linux. */
const tickMs = 10

heading(`Inspector: one session of ${turns} turns`)
const folder = mkdtempSync(join(tmpdir(), 'halting-bench-'))
try {
  const file = given === '' ? join(folder, 'large.jsonl') : given
  if (given === '') await writeSession(file, { turns, resultBytes })
  console.log(`${(statSync(file).size / 1e6).toFixed(0)} MB\n`)
  const samples = kinds.map(() => [])
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const [index, [, checkout]] of kinds.entries()) samples[index].push(await sample(checkout, file))
  console.log(
    table(
      ['', 'address', 'first screen', 'timeline', 'other tabs too', 'first screen', 'timeline', 'other tabs too', 'memory', 'other tabs too'],
      kinds.map(([name], index) => {
        const { start, first, all, tabs, firstBytes, allBytes, tabBytes, peak, tabPeak } = medians(samples[index])
        const seconds = (cpu) => `${(cpu / 1_000).toFixed(2)} s`
        const mb = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`
        const cpu = [start, first, all, tabs].map(seconds)
        return [name, ...cpu, ...[firstBytes, allBytes, tabBytes].map(mb), ...[peak, tabPeak].map((size) => `${size.toFixed(0)} MB`)]
      }),
    ),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The requests of a page to a new server: those for its first screen, and then all that its views can show. */
async function sample(checkout, file) {
  const server = spawn(process.execPath, [join(checkout, 'packages/cli/bin/halting.js'), 'inspect', file], { stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const url = await new Promise((resolve, reject) => {
      let said = ''
      server.stdout.on('data', (data) => {
        said += data
        if (said.includes('\n')) resolve(said.trim())
      })
      server.once('exit', (code) => reject(new Error(`halting inspect ended with ${code}`)))
    })
    const start = cpuOf(server.pid)
    const [address, fragment] = url.split('#')
    const key = fragment.split('/')[2]
    let bytes = 0
    const ask = async (what) => {
      const answer = await fetch(`${address}${what}`, { headers: { 'accept-encoding': 'identity' } })
      if (!answer.ok) throw new Error(`${what}: ${answer.status} ${await answer.text()}`)
      const text = await answer.text()
      bytes += Buffer.byteLength(text)
      return text
    }
    for (const what of ['', 'page.js', 'page.css', 'api/about']) await ask(what)
    bytes = 0
    const isWhole = await firstScreen(ask, key)
    const [first, firstBytes] = [cpuOf(server.pid), bytes]
    await everything(ask, key, isWhole)
    const [all, allBytes, peak] = [cpuOf(server.pid), bytes, peakOf(server.pid)]
    await otherTabs(ask, key, isWhole)
    return {
      start,
      first,
      all,
      tabs: cpuOf(server.pid),
      firstBytes,
      allBytes,
      tabBytes: bytes,
      peak,
      tabPeak: peakOf(server.pid),
    }
  } finally {
    server.kill('SIGTERM')
  }
}

/** Of all threads. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

/** In MB. */
function peakOf(pid) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1_024
}
