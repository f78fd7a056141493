// What a list of many sessions takes: `halting sessions` over 1,000 sessions of 96 kB, and `halting inspect` over 5,000, the start of the program included.
//   node sessions-index.mjs [--before=FOLDER] [--repeats=7] [--sessions=1000] [--inspected=5000] [--node=PATH] [--only=sessions|inspect]
// `--before` names the checkout of another version: both are measured alternately, so that ratios are of one run. Needs a build, and Linux.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { crc32 } from 'node:zlib'
import { sessionFile } from '@halting/journal'
import { heading, median, numberOf, table, textOf } from './lib/measure.mjs'

const repeats = numberOf('repeats', 7)
const [listed, inspected] = [numberOf('sessions', 1_000), numberOf('inspected', 5_000)]
const node = textOf('node', process.execPath)
const only = textOf('only', '')
const before = textOf('before', '')
const own = dirname(dirname(fileURLToPath(import.meta.url)))
const versions = [...(before === '' ? [] : [['before', before]]), ['now', own]]
const folder = mkdtempSync(join(tmpdir(), 'halting-sessions-index-'))
const cwd = '/home/someone/project'
const templateCode = `
  import { startRun, streamRun } from '@halting/core'
  import { openJournal } from '@halting/journal'
  import { createPrices } from '@halting/models'
  import { playOf } from './lib/sessions.mjs'
  const journal = await openJournal({ path: process.argv[1], sessionId: 'template', cwd: '${cwd}', version: '0.0.0' })
  const { model, ...play } = playOf(20)
  const options = { ...play, model: { ...model, id: 'claude-sonnet-4-5' }, prices: createPrices(), steps: journal.steps() }
  await streamRun(startRun({ prompt: 'Make the tests of the parser pass.', sessionId: 'template' }), options).ended
  await journal.close()`

try {
  const template = await templateLines()
  if (only !== 'inspect') await measureSessions(template)
  if (only !== 'sessions') await measureInspect(template)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The lines of one session of 20 turns, as the older version writes it: both versions read these. */
async function templateLines() {
  const path = join(folder, 'template.jsonl')
  const made = spawn(node, ['--input-type=module', '--eval', templateCode, path], { cwd: join(versions[0][1], 'bench'), stdio: 'inherit' })
  await new Promise((resolve) => made.on('close', resolve))
  return readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => line.slice(0, -',"sum":"01234567"}'.length))
}

/** Writes this many sessions with ids of their own into a person's folder. */
function madeSessions(template, count) {
  const home = mkdtempSync(join(folder, 'home-'))
  for (let index = 0; index < count; index++) {
    const sessionId = `${index.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`
    const path = sessionFile({ cwd, sessionId, home, env: {} })
    if (index === 0) mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, template.map((line) => summed(line.replaceAll('"sessionId":"template"', `"sessionId":"${sessionId}"`))).join(''), { mode: 0o600 })
  }
  return home
}

function summed(text) {
  return `${text},"sum":"${crc32(text).toString(16).padStart(8, '0')}"}\n`
}

function started(version, words, home) {
  const env = { PATH: process.env.PATH, HOME: home }
  return spawn(node, [join(version, 'packages/cli/bin/halting.js'), ...words], { env, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] })
}

/** User and system time of a process so far, and its peak memory. Ticks are 10 ms. */
function usageOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))
  return { ms: (Number(fields[11]) + Number(fields[12])) * 10, mb: Number(peak?.[1]) / 1_024 }
}

/** `halting sessions` in a process of its own that reports its costs. */
async function listOnce(version, home) {
  const cost = `data:text/javascript,process.on('exit',()=>{const u=process.resourceUsage();process.stderr.write(JSON.stringify({ms:(u.userCPUTime+u.systemCPUTime)/1e3,mb:u.maxRSS/1024})+'\\n')})`
  const env = { PATH: process.env.PATH, HOME: home }
  const child = spawn(node, ['--import', cost, join(version, 'packages/cli/bin/halting.js'), 'sessions', '--all', '--json'], { env, cwd: '/', stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (data) => (out += data))
  child.stderr.on('data', (data) => (err += data))
  await new Promise((resolve) => child.on('close', resolve))
  if (JSON.parse(out).sessions.length !== listed) throw new Error(`halting sessions did not list all: ${out.slice(0, 200)}`)
  return { ...JSON.parse(err.trim().split('\n').at(-1)) }
}

/** `halting inspect`: CPU when it listens, at the first row, and at the last. */
async function inspectOnce(version, home) {
  const child = started(version, ['inspect', '--all'], home)
  const closed = new Promise((resolve) => child.on('close', resolve))
  try {
    const url = await new Promise((resolve, reject) => {
      let out = ''
      child.stdout.on('data', (data) => (out += data).includes('\n') && resolve(out.trim()))
      child.on('close', () => reject(new Error('halting inspect ended')))
    })
    const listens = usageOf(child.pid)
    const response = await fetch(`${url}api/sessions`)
    let [first, text] = [undefined, '']
    const decoder = new TextDecoder()
    for await (const piece of response.body) {
      first ??= usageOf(child.pid)
      text += decoder.decode(piece, { stream: true })
    }
    const all = usageOf(child.pid)
    if (text.trimEnd().split('\n').length !== inspected || text.includes('"problem"')) throw new Error('halting inspect did not list all')
    return { listensMs: listens.ms, firstMs: first.ms, allMs: all.ms, mb: all.mb }
  } finally {
    child.kill('SIGTERM')
    await closed
  }
}

/** Medians of what `once` returns, for each version and state, measured alternately. Every version has folders of its own. */
async function alternated(once, states) {
  const samples = new Map()
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const [name, version] of versions)
      for (const { state, prepare } of states) {
        const key = `${name}, ${state}`
        const home = prepare(name)
        const sample = await once(version, home)
        samples.set(key, [...(samples.get(key) ?? []), sample])
      }
  return [...samples].map(([key, all]) => {
    const numbers = Object.keys(all[0]).filter((field) => typeof all[0][field] === 'number')
    return [key, Object.fromEntries(numbers.map((field) => [field, median(all.map((sample) => sample[field]))]))]
  })
}

/** Removes what a version stores to be faster the next time. */
function withoutIndex(home) {
  const projects = join(home, '.halting', 'projects')
  for (const name of readdirSync(projects)) rmSync(join(projects, name, '.sessions-index'), { force: true })
  return home
}

async function measured(template, count, once) {
  const homes = new Map(versions.map(([name]) => [name, madeSessions(template, count)]))
  const home = (name) => homes.get(name)
  const states = [
    { state: 'no index', prepare: (name) => withoutIndex(home(name)) },
    { state: 'again', prepare: home },
  ]
  return alternated(once, states)
}

async function measureSessions(template) {
  heading(`halting sessions, ${listed} sessions of ${Math.round((Buffer.byteLength(template.join('\n')) + 20 * template.length) / 1_000)} kB`)
  const rows = await measured(template, listed, listOnce)
  console.log(table(['', 'CPU', 'peak'], rows.map(([name, { ms, mb }]) => [name, `${(ms / 1_000).toFixed(2)} s`, `${mb.toFixed(0)} MB`])))
}

async function measureInspect(template) {
  heading(`halting inspect, ${inspected} sessions`)
  const rows = await measured(template, inspected, inspectOnce)
  const seconds = (value) => `${(value / 1_000).toFixed(2)} s`
  console.log(
    table(
      ['CPU', 'listens', 'first row', 'all rows', 'peak'],
      rows.map(([name, { listensMs, firstMs, allMs, mb }]) => [name, seconds(listensMs), seconds(firstMs), seconds(allMs), `${mb.toFixed(0)} MB`]),
    ),
  )
}
