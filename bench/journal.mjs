// What keeping a session costs a turn: in memory, on disk with and without fdatasync, beside a plain append and pi's session file. See README.md.
// Run: node bench/journal.mjs [--repeats=7] [--turns=1000] [--folders=/tmp,/dev/shm]. Needs a build.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openJournal } from '@halting/journal'
import { createMemorySteps, streamRun, startRun } from '@halting/core'
import { heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'
import { inputOf, replyText, resultOf, toolName } from './lib/script.mjs'
import { playOf, whose } from './lib/sessions.mjs'

/** Turns before anything is measured. */
const warmup = 300

const piAlone = "pi's session file alone, without its loop"

const ways = {
  'no record': (_folder, turns) => played(turns, {}),
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
  for (const place of textOf('folders', `${tmpdir()},/dev/shm`).split(',')) {
    const samples = Object.fromEntries(Object.keys(ways).map((name) => [name, []]))
    for (let repeat = 0; repeat < repeats; repeat++) for (const name of Object.keys(ways)) samples[name].push(inChild(name, place, size))
    const figures = (name, key) => samples[name].map((sample) => sample[key])
    const least = (name, key) => Math.min(...figures(name, key))
    const rows = Object.keys(ways).map((name) => [
      name,
      `${us(least(name, 'cpuMs'))} (${us(median(figures(name, 'cpuMs')))})`,
      // pi's is without a loop: all of it is what its file costs.
      us(least(name, 'cpuMs') - (name === piAlone ? 0 : least('no record', 'cpuMs'))),
      name === piAlone ? '' : (least(name, 'cpuMs') / least('no record', 'cpuMs')).toFixed(2),
      `${us(least(name, 'wallMs'))} (${us(median(figures(name, 'wallMs')))})`,
      samples[name][0].bytes === 0 ? '' : samples[name][0].bytes.toFixed(0),
    ])
    console.log(`### ${place}\n\nµs a turn, turns ${warmup} to ${size}: least of ${repeats} (median); each in a process of its own, taken in turns.\n`)
    console.log(`${table(['', 'CPU', 'above no record', 'to no record', 'wall', 'bytes a turn'], rows)}\n`)
  }
}

function us(value) {
  return ms(value * 1_000)
}

function inChild(name, place, size) {
  const own = mkdtempSync(join(place, 'halting-journal-'))
  try {
    const { stdout, status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), 'child', name, own, String(size)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    if (status !== 0) throw new Error(`${name} failed`)
    return JSON.parse(stdout)
  } finally {
    rmSync(own, { recursive: true })
  }
}

/** From turn `warmup` on: what a turn takes, until all of it is where it belongs. */
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
  const journal = await openJournal({ path, sessionId: 'bench', ...whose, ...(openFile !== undefined && { openFile }) })
  const close = async () => {
    await journal.close()
    return statSync(path).size
  }
  return played(size, { ...options, steps: journal.steps(), close })
}

/** The same file, of which nobody waits until it is on disk. */
async function unsynced(path) {
  const file = await open(path, 'a', 0o600)
  return { appendFile: (text) => file.appendFile(text), datasync: async () => {}, close: () => file.close() }
}

/** What the simplest program does that keeps anything: a line for a reply and one for its result. */
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
  const { SessionManager } = await import('@earendil-works/pi-coding-agent')
  const manager = SessionManager.create(whose.cwd, place)
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
