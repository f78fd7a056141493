// How long it takes until a session goes on: from an open program to its next request. See README.md.
// Run: node bench/resume.mjs [--repeats=9] [--turns=1000,10000] [--folder=/dev/shm]. Needs a build.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { builtPackage, comparedBuilds, heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'
import { playOf, whose, writeSession } from './lib/sessions.mjs'

const ways = {
  /** What every reader of such a file pays: its lines as JSON, and nothing made of them. */
  'JSON.parse of its lines': (path) => {
    const lines = readFileSync(path, 'utf8').split('\n')
    lines.pop()
    return lines.map((line) => JSON.parse(line))
  },
  /** What is left where nothing but the messages is parsed, and they are cut out already. */
  'JSON.parse of its messages alone': (messages) => messages.map((message) => JSON.parse(message)),
  'a run that was killed': goOn,
  'a new prompt after a run that ended': goOn,
}

const messagesOf = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith('{"parentUuid"') ? [JSON.stringify(JSON.parse(line).message)] : []))

const [kind, way, path, turns] = process.argv.slice(2)
if (kind === 'child') process.stdout.write(JSON.stringify(await measure(way, path, Number(turns))))
else await report()
process.exit(0)

async function report() {
  heading('Resume')
  const repeats = numberOf('repeats', 9)
  const folder = mkdtempSync(join(textOf('folder', tmpdir()), 'halting-resume-'))
  try {
    for (const size of textOf('turns', '1000,10000').split(',').map(Number)) {
      const [ended, open] = [join(folder, `ended-${size}.jsonl`), join(folder, `open-${size}.jsonl`)]
      await writeSession(ended, { turns: size })
      await writeSession(open, { turns: size, ends: false })
      const samples = Object.keys(ways).map(() => [])
      for (let repeat = 0; repeat < repeats; repeat++) {
        for (const [index, name] of Object.keys(ways).entries()) {
          // Whoever goes on writes: the next sample is of the same file as this one.
          const own = join(folder, 'sample.jsonl')
          copyFileSync(name.startsWith('a new') ? ended : open, own)
          samples[index].push(inChild(name, own, size))
        }
      }
      const least = (index, key) => Math.min(...samples[index].map((sample) => sample[key]))
      const middle = (index, key) => median(samples[index].map((sample) => sample[key]))
      const rows = Object.keys(ways).map((name, index) => [
        name,
        `${ms(least(index, 'wallMs'))} (${ms(middle(index, 'wallMs'))})`,
        `${ms(least(index, 'cpuMs'))} (${ms(middle(index, 'cpuMs'))})`,
        (least(index, 'cpuMs') / least(0, 'cpuMs')).toFixed(2),
        `${mb(middle(index, 'heapBytes'))} MB`,
        `${mb(middle(index, 'peakBytes'))} MB`,
      ])
      const { transcriptBytes } = samples[3][0]
      console.log(`### ${size.toLocaleString('en-US')} turns: a file of ${mb(statSync(open).size)} MB, its transcript ${mb(transcriptBytes)} MB as JSON\n`)
      console.log(`${table(['least (median) of ' + repeats, 'wall, ms', 'CPU, ms', 'CPU to the first row', 'held', 'peak above the start'], rows)}\n`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function inChild(...parameters) {
  const { stdout, status } = spawnSync(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), 'child', ...parameters.map(String)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${parameters.join(' ')} failed`)
  return JSON.parse(stdout)
}

/** Everything is loaded, nothing has run yet: what comes on top of the start of the program. */
async function measure(name, file, size) {
  const given = name.endsWith('messages alone') ? messagesOf(file) : file
  globalThis.gc()
  const before = process.memoryUsage()
  const peakBefore = process.resourceUsage().maxRSS
  // Threads go on sweeping behind that, and the first look at this clock loads it: neither is of what is measured.
  await new Promise((resolve) => setTimeout(resolve, 100 + (performance.now() % 1)))
  const cpuBegan = process.cpuUsage()
  const began = performance.now()
  const held = await ways[name](given, size)
  const wallMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpuBegan)
  const peakBytes = (process.resourceUsage().maxRSS - peakBefore) * 1_024
  globalThis.gc()
  const after = process.memoryUsage()
  const heapBytes = after.heapUsed + after.external - before.heapUsed - before.external
  const transcriptBytes = held.transcript === undefined ? 0 : Buffer.byteLength(JSON.stringify(held.transcript))
  if (held.close !== undefined) await held.close()
  return { wallMs, cpuMs: (user + system) / 1_000, heapBytes, peakBytes, transcriptBytes }
}

/** Until the model is asked, with what was said in the session. */
async function goOn(file, size) {
  const journal = await openJournal({ path: file, sessionId: 'bench', ...whose })
  const { open } = journal
  let shown = 0
  await new Promise((resolve, reject) => {
    const play = playOf(0, { onLast: resolve })
    const { call } = play.model
    play.model.call = (request, options) => {
      shown = request.messages.length
      return call(request, options)
    }
    const options = { ...play, maxTurns: size + 2 }
    const start = () => startRun({ transcript: journal.transcript, prompt: 'Go on.', sessionId: 'bench', runId: 'run2' })
    const running = open === undefined ? streamRun(start(), { ...options, steps: journal.steps() }) : resume(open, options, journal.transcript, journal.log).loop
    void running.ended.then(({ terminal }) => reject(new Error(`${terminal.reason}: ${terminal.signal.message}`)))
  })
  if (shown < size * 2) throw new Error(`the model was shown ${shown} messages of ${size} turns`)
  return journal
}

function mb(bytes) {
  return (bytes / 1e6).toFixed(1)
}
