// What a run costs that waits for its service: CPU of the program over a minute, by /proc. A service on loopback answers 429 and says "in an hour". The program is
// started as people start it: `-p`, and the interactive program in tmux, which counts down.
// Run: node bench/waiting.mjs [--seconds=60] [--halting=PROGRAM]. Needs a build, Linux, and tmux.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, numberOf, table, textOf } from './lib/measure.mjs'

const seconds = numberOf('seconds', 60)
const program = textOf('halting', fileURLToPath(new URL('../packages/cli/bin/halting.js', import.meta.url)))
/** Of one core. */
const maxShare = 0.001
// A program that has just started still compiles and cleans up.
const settleMs = 20_000
const ticksInSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

let asked = 0
const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => {
    asked++
    const body = { type: 'error', error: { type: 'rate_limit_error', message: 'Too many requests' } }
    response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '3600' }).end(JSON.stringify(body))
  })
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const folder = mkdtempSync(join(tmpdir(), 'halting-waiting-'))
mkdirSync(join(folder, 'work'))
mkdirSync(join(folder, '.halting'))
writeFileSync(join(folder, '.halting/settings.json'), '{}')
const env = {
  PATH: process.env.PATH,
  HOME: folder,
  TERM: 'xterm-256color',
  LANG: 'C.UTF-8',
  ANTHROPIC_API_KEY: 'k',
  ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}`,
}
const words = [program, '--model', 'claude-sonnet-4-5', '--wait-for-limits', '8h']

heading('Waiting')
const rows = []
try {
  rows.push(await headless('-p', []))
  rows.push(await headless('-p --output-format stream-json', ['--output-format', 'stream-json', '--verbose']))
  rows.push(await interactive())
} finally {
  server.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
console.log(table(['', 'CPU', 'of a core', 'switches a second'], rows.map(({ title, cpuMs, switches }) => [title, `${cpuMs.toFixed(0)} ms in ${seconds} s`, `${((cpuMs / seconds / 1_000) * 100).toFixed(3)} %`, (switches / seconds).toFixed(1)])))
console.log(`${asked} requests`)
process.exitCode = rows.every(({ cpuMs }) => cpuMs / 1_000 / seconds <= maxShare) ? 0 : 1

async function headless(title, flags) {
  const [file, ...rest] = words
  const child = spawn(process.execPath, [file, '-p', 'Deploy it.', ...rest, ...flags], { cwd: join(folder, 'work'), env, stdio: ['ignore', 'ignore', 'ignore'] })
  try {
    return { title, ...(await used(child.pid)) }
  } finally {
    child.kill('SIGKILL')
  }
}

async function interactive() {
  const socket = join(folder, 'tmux')
  const tmux = (...parameters) => execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...parameters], { env, cwd: join(folder, 'work'), encoding: 'utf8' })
  tmux('new-session', '-d', '-x', '100', '-y', '30', process.execPath, ...words, 'Deploy it.')
  try {
    const pid = Number(tmux('list-panes', '-F', '#{pane_pid}').trim())
    const found = await used(pid)
    const screen = tmux('capture-pane', '-p').split('\n').filter((line) => /\S/.test(line))
    console.error(screen.slice(-12).join('\n'))
    return { title: 'interactive, with its countdown', ...found }
  } finally {
    tmux('kill-server')
  }
}

/** What a process uses while it waits, in milliseconds of CPU and in how often it was woken. */
async function used(pid) {
  await new Promise((resolve) => setTimeout(resolve, settleMs))
  const before = figuresOf(pid)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  const after = figuresOf(pid)
  return { cpuMs: after.cpuMs - before.cpuMs, switches: after.switches - before.switches }
}

/** Of all its threads: `schedstat` counts nanoseconds, where `stat` has only ticks. */
function figuresOf(pid) {
  const { utime, stime } = ticksOf(pid)
  let nanos = 0
  let switches = 0
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const [onCpu = 0, , slices = 0] = numbersIn(`/proc/${pid}/task/${thread}/schedstat`)
    nanos += onCpu
    switches += slices
  }
  return { cpuMs: nanos > 0 ? nanos / 1e6 : ((utime + stime) / ticksInSecond) * 1_000, switches }
}

function ticksOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ')
  return { utime: Number(fields[11]), stime: Number(fields[12]) }
}

function numbersIn(path) {
  try {
    return readFileSync(path, 'utf8').trim().split(' ').map(Number)
  } catch {
    return []
  }
}
