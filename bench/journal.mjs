// What storing a session adds to a turn: in memory, on disk with and without fdatasync, compared with a plain append and with pi's session file. See README.md.
// Run: node bench/journal.mjs [--repeats=7] [--turns=1000] [--folders=/tmp,/dev/shm] [--before=FOLDER]. Needs a build; --before names another checkout, built, that is
// measured alternately with this one. If the peers are not installed, pi is left out.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtPackage, comparedBuilds, heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'
import { inputOf, replyText, resultOf, toolName } from './lib/script.mjs'
import { playOf, origin } from './lib/sessions.mjs'

const { openJournal } = await builtPackage('journal')
const { createMemorySteps, streamRun, startRun } = await builtPackage('core')

/** Turns before the measurement begins. */
const warmup = 300

const none = 'no record'
const piPackage = '@earendil-works/pi-coding-agent'
const piAlone = "pi's session file alone, without its loop"

const ways = {
  [none]: (_folder, turns) => played(turns, {}),
  'memory': (_folder, turns) => played(turns, { steps: createMemorySteps() }),
  'journal, calls that read: nothing waits for the disk': (folder, turns) => journaled(folder, turns, {}),
  'journal, calls that write, without fdatasync': (folder, turns) => journaled(folder, turns, { readOnly: false }, unsynced),
  'journal, calls that write: an fdatasync before each': (folder, turns) => journaled(folder, turns, { readOnly: false }),
  'no record, and a plain append of reply and result': (folder, turns) => appended(folder, turns, async () => {}),
  'the same, with fdatasync': (folder, turns) => appended(folder, turns, (file) => file.datasync()),
  [piAlone]: piSession,
}

const [kind, way, folder, turns] = process.argv.slice(2)
if (kind === 'child') process.stdout.write(JSON.stringify(await ways[way](folder, Number(turns))))
else await report()
process.exit(0)

async function report() {
  heading('The journal')
  const [repeats, size] = [numberOf('repeats', 7), numberOf('turns', 1_000)]
  const only = textOf('only', '')
  const builds = comparedBuilds()
  const compared = Object.keys(ways).filter((name) => name !== piAlone || hasPi())
  const rows = compared.flatMap((name) => (isOurs(name) ? builds : builds.slice(-1)).map((build) => ({ name, build }))).filter(({ name }) => name === none || name.includes(only))
  for (const place of textOf('folders', `${tmpdir()},/dev/shm`).split(',')) {
    for (const row of rows) row.samples = []
    for (let repeat = 0; repeat < repeats; repeat++) for (const { name, build, samples } of rows) samples.push(inChild(name, place, size, build))
    const middle = ({ samples }, key) => median(samples.map((sample) => sample[key]))
    const bare = (build) => middle(rows.find((row) => row.name === none && row.build === build), 'cpuMs')
    const cells = rows.map((row) => [
      `${isOurs(row.name) ? row.build.label : ''}${row.name}`,
      `${us(middle(row, 'cpuMs'))} (${us(Math.min(...row.samples.map(({ cpuMs }) => cpuMs)))})`,
      // pi's row has no loop: all of it is the cost of its file.
      us(middle(row, 'cpuMs') - (row.name === piAlone ? 0 : bare(row.build))),
      row.name === piAlone ? '' : (middle(row, 'cpuMs') / bare(row.build)).toFixed(2),
      us(middle(row, 'wallMs')),
      row.samples[0].bytes === 0 ? '' : row.samples[0].bytes.toFixed(0),
    ])
    console.log(`### ${place}\n\nµs a turn, turns ${warmup} to ${size}: median of ${repeats} (least); each in a process of its own, taken in turns.\n`)
    console.log(`${table(['', 'CPU', 'above no record', 'to no record', 'wall', 'bytes a turn'], cells)}\n`)
  }
}

/** Whether a row measures Halting, and not a plain file or a peer. */
function isOurs(name) {
  return name === none || name === 'memory' || name.startsWith('journal')
}

function hasPi() {
  try {
    import.meta.resolve(piPackage)
    return true
  } catch {
    return false
  }
}

function us(value) {
  return ms(value * 1_000)
}

function inChild(name, place, size, build) {
  const own = mkdtempSync(join(place, 'halting-journal-'))
  try {
    const { stdout, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), 'child', name, own, String(size), `--build=${build.folder}`], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (status !== 0) throw new Error(`${name} failed`)
    return JSON.parse(stdout)
  } finally {
    rmSync(own, { recursive: true })
  }
}

/** From turn `warmup` on: how long a turn takes until everything is stored. */
function stopwatch(size) {
  let cpuBegan
  let began
  return {
    turn(number) {
      if (number !== warmup) return
      cpuBegan = process.cpuUsage()
      began = performance.now()
    },
    read(bytes = 0) {
      const { user, system } = process.cpuUsage(cpuBegan)
      const count = size - warmup
      return { cpuMs: (user + system) / 1_000 / count, wallMs: (performance.now() - began) / count, bytes: bytes / size }
    },
  }
}

async function played(size, { steps, readOnly = true, each, close = async () => 0 }) {
  const watch = stopwatch(size)
  const play = playOf(size, { readOnly })
  const { call } = play.model
  let turn = 0
  play.model.call = async (...given) => {
    watch.turn(turn++)
    if (each !== undefined && turn > 1) await each(given[0].messages)
    return call(...given)
  }
  const { terminal } = await streamRun(startRun({ prompt: 'Go.', sessionId: 'bench' }), { ...play, ...(steps !== undefined && { steps }) }).ended
  const bytes = await close()
  if (terminal.reason !== 'completed' || turn !== size + 1) throw new Error(`${terminal.reason} after ${turn} requests`)
  return watch.read(bytes)
}

async function journaled(place, size, options, openFile) {
  const path = join(place, 'session.jsonl')
  const journal = await openJournal({ path, sessionId: 'bench', ...origin, ...(openFile !== undefined && { openFile }) })
  const close = async () => {
    await journal.close()
    return statSync(path).size
  }
  return played(size, { ...options, steps: journal.steps(), close })
}

/** The same file, but nothing waits until it is on disk. */
async function unsynced(path) {
  const file = await open(path, 'a', 0o600)
  const appendNow = (text) => writeSync(file.fd, text) > 0
  return { appendNow, appendFile: (text) => file.appendFile(text), datasync: async () => {}, close: () => file.close() }
}

/** What the simplest program does that stores anything: a line for a reply and one for its result. */
async function appended(place, size, sync) {
  const path = join(place, 'plain.jsonl')
  const file = await open(path, 'a', 0o600)
  const each = async (messages) => {
    for (const message of messages.slice(-2)) await file.appendFile(`${JSON.stringify(message)}\n`)
    await sync(file)
  }
  const close = async () => {
    await file.close()
    return statSync(path).size
  }
  return played(size, { each, close })
}

/** As pi's coding agent writes: each message once it is complete, with `appendFileSync`, never synced. */
async function piSession(place, size) {
  const { SessionManager } = await import(piPackage)
  const manager = SessionManager.create(origin.cwd, place)
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } }
  const watch = stopwatch(size)
  manager.appendMessage({ role: 'user', content: 'Go.', timestamp: 0 })
  for (let turn = 0; turn < size; turn++) {
    watch.turn(turn)
    const id = `call_${turn}`
    const content = [{ type: 'text', text: replyText }, { type: 'toolCall', id, name: toolName, arguments: inputOf(turn) }]
    manager.appendMessage({ role: 'assistant', content, api: 'bench', provider: 'bench', model: 'bench', usage, stopReason: 'toolUse', timestamp: turn })
    const result = [{ type: 'text', text: resultOf(`src/file-${turn}.ts`) }]
    manager.appendMessage({ role: 'toolResult', toolCallId: id, toolName, content: result, isError: false, timestamp: turn })
  }
  const file = readdirSync(place).find((name) => name.endsWith('.jsonl'))
  return watch.read(statSync(join(place, file)).size)
}
