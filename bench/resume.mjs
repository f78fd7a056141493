// How long resuming a session takes: from an open program to its next request. See README.md.
// Run: node bench/resume.mjs [--repeats=9] [--turns=1000,10000] [--folder=/dev/shm] [--before=FOLDER]. Needs a build; --before names another checkout, built, that
// is measured alternately with this one, each with sessions that it wrote.
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { builtPackage, comparedBuilds, heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'
import { playOf, origin, writeSession } from './lib/sessions.mjs'

const { openJournal } = await builtPackage('journal')
const { resume, streamRun, startRun } = await builtPackage('core')

const ways = {
  /** The minimum for every reader of such a file: parsing its lines as JSON, and nothing else. */
  'JSON.parse of its lines': (path) => {
    const lines = readFileSync(path, 'utf8').split('\n')
    lines.pop()
    return lines.map((line) => JSON.parse(line))
  },
  /** The minimum if only the messages are parsed, and their positions are known already. */
  'JSON.parse of its messages alone': (messages) => messages.map((message) => JSON.parse(message)),
  'a run that was killed': resumeRun,
  'a new prompt after a run that ended': resumeRun,
}

const messagesOf = (path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line) => (/^\{"(parentUuid|type":"(user|assistant)")/.test(line) ? [JSON.stringify(JSON.parse(line).message)] : []))

const [kind, way, path, turns] = process.argv.slice(2)
if (kind === 'write') await writeSession(way, { turns: Number(path), ends: turns === 'ends' })
else if (kind === 'child') process.stdout.write(JSON.stringify(await measure(way, path, Number(turns))))
else await report()
process.exit(0)

async function report() {
  heading('Resume')
  const repeats = numberOf('repeats', 9)
  const folder = mkdtempSync(join(textOf('folder', tmpdir()), 'halting-resume-'))
  try {
    for (const size of textOf('turns', '1000,10000').split(',').map(Number)) {
      const rows = comparedBuilds().flatMap((build, index) => {
        const [ended, open] = ['ended', 'open'].map((name) => join(folder, `${name}-${size}-${index}.jsonl`))
        inChild(build, 'write', ended, size, 'ends')
        inChild(build, 'write', open, size, 'goes on')
        return Object.keys(ways).map((name) => ({ name, build, from: name.startsWith('a new') ? ended : open, samples: [] }))
      })
      for (let repeat = 0; repeat < repeats; repeat++) {
        for (const { name, build, from, samples } of rows) {
          // Resuming writes, so this restores the file for the next sample.
          const own = join(folder, 'sample.jsonl')
          copyFileSync(from, own)
          samples.push(JSON.parse(inChild(build, 'child', name, own, size)))
        }
      }
      const least = ({ samples }, key) => Math.min(...samples.map((sample) => sample[key]))
      const middle = ({ samples }, key) => median(samples.map((sample) => sample[key]))
      const first = ({ build }) => rows.find((row) => row.build === build)
      const cells = rows.map((row) => [
        `${row.build.label}${row.name}`,
        `${ms(middle(row, 'wallMs'))} (${ms(least(row, 'wallMs'))})`,
        `${ms(middle(row, 'cpuMs'))} (${ms(least(row, 'cpuMs'))})`,
        (middle(row, 'cpuMs') / middle(first(row), 'cpuMs')).toFixed(2),
        `${mb(middle(row, 'heapBytes'))} MB`,
        `${mb(middle(row, 'peakBytes'))} MB`,
        `${mb(statSync(row.from).size)} MB`,
      ])
      console.log(`### ${size.toLocaleString('en-US')} turns\n`)
      console.log(`${table(['median (least) of ' + repeats, 'wall, ms', 'CPU, ms', 'CPU to the first row', 'held', 'peak above the start', 'file'], cells)}\n`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function inChild(build, ...parameters) {
  const { stdout, status } = spawnSync(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), ...parameters.map(String), `--build=${build.folder}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${parameters.join(' ')} failed`)
  return stdout
}

/** Everything is loaded and nothing has run yet: the measurement adds to the start of the program. */
async function measure(name, file, size) {
  const given = name.endsWith('messages alone') ? messagesOf(file) : file
  globalThis.gc()
  const before = process.memoryUsage()
  const peakBefore = process.resourceUsage().maxRSS
  // Threads continue sweeping afterwards, and the first use of this clock loads it: neither belongs to the measurement.
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

/** Until the model gets a request with the conversation of the session. */
async function resumeRun(file, size) {
  const journal = await openJournal({ path: file, sessionId: 'bench', ...origin })
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
