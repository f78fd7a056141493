// What a Bash call costs this process beyond a bare spawn of bash, and how long it blocks the event loop, among many processes. See README.md.
// Run: node bench/bash.mjs [--processes=100,420,5000] [--repeats=7] [--calls=60] [--before=FOLDER]; needs Linux and a build, and none of the peers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { homedir, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { heading, medians, ms, numberOf, table, textOf } from './lib/measure.mjs'

const here = fileURLToPath(import.meta.url)
const root = resolve(here, '../..')
const calls = numberOf('calls', 60)
const warmUps = 20

const way = textOf('way', '')
await (way === '' ? compare() : measureCalls(way, textOf('from', root)))

/** Runs the calls in this new process and prints its figures. @param {string} name @param {string} from */
async function measureCalls(name, from) {
  const cwd = mkdtempSync(join(tmpdir(), 'halting-bench-'))
  if (name === 'loaded') await toolCall(name, cwd, from)
  const call = name === 'bare' || name === 'loaded' ? () => bareCall(cwd) : await toolCall(name, cwd, from)
  for (let at = 0; at < warmUps; at += 1) await call()
  const before = process.cpuUsage()
  for (let at = 0; at < calls; at += 1) await call()
  const cpuMs = cpuSince(before) / calls
  const blocks = []
  for (let at = 0; at < calls; at += 1) blocks.push(await longestBlock(call))
  const sorted = blocks.toSorted((one, other) => one - other)
  rmSync(cwd, { recursive: true, force: true })
  process.stdout.write(JSON.stringify({ cpuMs, blockMs: sorted[calls >> 1], block90Ms: sorted[Math.floor(calls * 0.9)] }))
  process.exit(0)
}

/** The same pipes that a caller needs to read both outputs. @param {string} cwd */
async function bareCall(cwd) {
  const child = spawn('bash', ['-c', 'true'], { cwd, detached: true, env: process.env, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', () => undefined)
  await once(child, 'close')
}

/** @param {string} name @param {string} cwd @param {string} from @returns {Promise<() => Promise<void>>} */
async function toolCall(name, cwd, from) {
  const load = (path) => import(pathToFileURL(join(from, path)).href)
  const { createBashTool, Workspace } = await load('packages/agent/dist/index.js')
  const workspace = new Workspace({ cwd, confinementOf: () => (name === 'read' ? { kind: 'read', readable: [] } : undefined) })
  if (name === 'read') {
    const { SessionWall } = await load('packages/policy/dist/index.js')
    const { findLandlock } = await load('packages/agent/dist/sandbox/index.js')
    const path = process.env['PATH'] ?? ''
    workspace.wall = new SessionWall({ home: homedir(), configFolder: join(cwd, 'config'), path, writable: [cwd], setting: 'auto', isSandboxed: () => false })
    const means = findLandlock(path, [cwd])
    if (means === undefined) throw new Error('No Landlock, or no perl.')
    workspace.wall.means = () => means
  }
  const tool = createBashTool(workspace)
  const context = { callId: 'c', signal: new AbortController().signal, progress: () => undefined }
  return async () => {
    const { isError, content } = await tool.execute({ command: 'true' }, context)
    if (isError === true) throw new Error(content)
  }
}

/** The maximum of CPU milliseconds between two turns of the event loop. CPU, because other processes of a busy machine delay the clock. @param {() => Promise<void>} call */
async function longestBlock(call) {
  let [isOver, longest, last] = [false, 0, process.cpuUsage()]
  const look = () => {
    longest = Math.max(longest, cpuSince(last))
    last = process.cpuUsage()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  await call()
  isOver = true
  look()
  return longest
}

/** @param {NodeJS.CpuUsage} before */
function cpuSince(before) {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** Starts processes until the machine has this many. @param {number} count */
async function withProcesses(count) {
  const lacking = count - countProcesses() - 2
  const started = Math.max(0, lacking)
  const shell = spawn('bash', ['-c', `for ((at = 0; at < ${started}; at++)); do sleep 3600 & done; echo; exec sleep 3600`], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  const end = () => process.kill(-shell.pid, 'SIGKILL')
  process.once('exit', end)
  process.once('SIGTERM', () => process.exit(143))
  await once(shell.stdout, 'data')
  return () => {
    process.off('exit', end)
    end()
  }
}

function countProcesses() {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).length
}

/** @param {string} name @param {string} from @returns {Promise<Record<string, number>>} */
async function inFreshProcess(name, from) {
  const child = spawn(process.execPath, [here, `--way=${name}`, `--from=${from}`, `--calls=${calls}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk) => (text += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${name} failed`)
  return JSON.parse(text)
}

async function compare() {
  const repeats = numberOf('repeats', 7)
  const before = textOf('before', '')
  const counts = textOf('processes', '100,420,5000').split(',').map(Number)
  const folders = [...(before === '' ? [] : [['before', resolve(before)]]), ['now', root]]
  const ways = [['bare spawn', 'bare', root], ['bare spawn, tools loaded', 'loaded', root], ...['tool', 'read'].flatMap((name) => folders.map(([when, from]) => [`${name === 'tool' ? 'Bash' : 'Bash, read by Landlock'}, ${when}`, name, from]))]
  heading(`Bash \`true\`: CPU of this process a call, and the longest block of its event loop, in milliseconds; ${repeats} fresh processes of ${calls} calls by turns`)
  for (const count of counts) {
    const end = await withProcesses(count)
    const there = countProcesses()
    const rows = []
    try {
      const samples = new Map(ways.map(([title]) => [title, []]))
      for (let round = 0; round < repeats; round += 1)
        for (const [title, name, from] of ways) samples.get(title).push(await inFreshProcess(name, from))
      const bare = medians(samples.get('bare spawn'))
      for (const [title, list] of samples) {
        const { cpuMs, blockMs, block90Ms } = medians(list)
        rows.push([`${title}`, ms(cpuMs), ms(cpuMs - bare.cpuMs), ms(blockMs), ms(block90Ms), loadavg()[0].toFixed(0)])
      }
    } finally {
      end()
    }
    console.log(table([`${there} processes`, 'CPU', 'beyond the bare spawn', 'longest block, median call', 'of nine in ten', 'load'], rows), '\n')
  }
}
