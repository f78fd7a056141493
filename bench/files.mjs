// What do the file tools cost beyond the bare work, and what does a turn of the agent cost that reads a file? CPU of the process and of its children. See README.md.
// Run: node bench/files.mjs [--repeats=7] [--only=read,turn] [--before=FOLDER] [--node=PATH] [--share=1] [--minutes=N]; needs a build, and none of the peers.
import { execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { lstat, open, readFile, rename } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'

const here = fileURLToPath(new URL('..', import.meta.url))
const filesRead = 50
const line = 'export const sum = (one, other) => one + other // which is 64 long.'
const text = (line.slice(0, 63) + '\n').repeat(16)

/**
 * Each kind of work by name: how often it is done in a process, and a function that does it once. Before that, it is done a third as often, or `warm` times, without being
 * measured.
 * @type {Record<string, { times: number, warm?: number, make: (place: Place) => Promise<(at: number) => Promise<unknown>> }>}
 * @typedef {{ cwd: string, root: string }} Place
 */
const work = {
  'read/bare': { times: 1_000, make: async ({ cwd }) => (at) => readFile(join(cwd, `src/${at % filesRead}.ts`)) },
  'read/tool alone': { times: 1_000, make: async (place) => toolOf(place, 'Read', (at) => ({ file_path: `src/${at % filesRead}.ts` }), { alone: true }) },
  'read/tool, 50 files seen': { times: 1_000, make: async (place) => toolOf(place, 'Read', (at) => ({ file_path: `src/${at % filesRead}.ts` })) },
  'edit/bare': { times: 200, make: async ({ cwd }) => async () => replaced(join(cwd, 'src/0.ts'), (await readFile(join(cwd, 'src/0.ts'), 'utf8')).replace('sum', 'sum')) },
  'edit/tool': { times: 200, make: editsOf },
  'write/bare': { times: 200, make: async ({ cwd }) => (at) => replaced(join(cwd, `new-${at}.ts`), text) },
  'write/bare, no fsync': { times: 200, make: async ({ cwd }) => (at) => replaced(join(cwd, `new-${at}.ts`), text, { syncs: false }) },
  'write/tool': { times: 200, make: async (place) => toolOf(place, 'Write', (at) => ({ file_path: `new-${at}.ts`, content: text })) },
  'glob/bare': { times: 40, make: async ({ cwd, root }) => bareSearch(root, cwd, ['--files', '--null', '--sortr=modified']) },
  'glob/tool': { times: 40, make: async (place) => toolOf(place, 'Glob', () => ({ pattern: '**/*7.ts' })) },
  'grep/bare': { times: 40, make: async ({ cwd, root }) => bareSearch(root, cwd, ['--null', '--with-filename', '--no-heading', '--sort=path', '--max-columns=500', '--max-columns-preview', '--line-number'], ['--regexp', 'needle', '--', './']) },
  'grep/tool': { times: 40, make: async (place) => toolOf(place, 'Grep', () => ({ pattern: 'needle', output_mode: 'content' })) },
  'turn/none': { times: 1_000, make: async (place) => turnsOf(place, 'Nothing', (at) => ({ at: String(at) })) },
  'turn/read': { times: 1_000, make: async (place) => turnsOf(place, 'Read', (at) => ({ file_path: 'src/0.ts', limit: 1 + (at % 10) })) },
  'turn/none, after 5,000': { times: 1_000, warm: 5_000, make: async (place) => turnsOf(place, 'Nothing', (at) => ({ at: String(at) })) },
  'turn/read, after 5,000': { times: 1_000, warm: 5_000, make: async (place) => turnsOf(place, 'Read', (at) => ({ file_path: 'src/0.ts', limit: 1 + (at % 10) })) },
  'turn/read, 50 files seen': { times: 1_000, make: async (place) => turnsOf(place, 'Read', (at) => ({ file_path: `src/${at % filesRead}.ts` })) },
}

const [kind, root, what] = process.argv.slice(2)
if (kind === 'child') {
  const figure = await measuredHere(what ?? '', root ?? here)
  // A run that is still open ends with the process.
  process.stdout.write(String(figure), () => process.exit(0))
} else await report()

/** CPU milliseconds of this process and of children that ended. @param {string} name @param {string} folder */
async function measuredHere(name, folder) {
  const { make } = work[name]
  const times = Math.ceil(work[name].times * numberOf('share', 1))
  // Not in memory: /tmp may be.
  mkdirSync(join(homedir(), '.cache'), { recursive: true })
  const cwd = mkdtempSync(join(homedir(), '.cache/halting-bench-'))
  try {
    for (let at = 0; at < filesRead; at += 1) writeAt(join(cwd, `src/${at}.ts`), text)
    if (/glob|grep/.test(name)) for (let at = 0; at < 2_000; at += 1) writeAt(join(cwd, `src/${at >> 6}/${at}.ts`), at % 40 === 0 ? `${text}needle\n` : text)
    const once = await make({ cwd, root: folder })
    const warm = Math.ceil((work[name].warm ?? work[name].times / 3) * numberOf('share', 1))
    let began = 0
    for (let at = 0; at < warm + times; at += 1) {
      if (at === warm) began = cpuMs()
      await once(at)
    }
    return (cpuMs() - began) / times
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

function writeAt(path, content) {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
}

function cpuMs() {
  const { user, system } = process.cpuUsage()
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
  // In ticks of 10 ms, for many searches.
  return (user + system) / 1_000 + (Number(fields[13]) + Number(fields[14])) * 10
}

/** As the tools write: to another name, durably, and then by one rename. */
async function replaced(path, content, { syncs = true } = {}) {
  const temporary = `${path}.${randomUUID()}.tmp`
  const file = await open(temporary, 'wx')
  await file.writeFile(content)
  if (syncs) await file.sync()
  await file.close()
  await rename(temporary, path)
  await lstat(path)
}

function bareSearch(folder, cwd, args, last = []) {
  const rg = execFileSync(process.execPath, ['-e', 'import("@vscode/ripgrep").then(({ rgPath }) => process.stdout.write(rgPath))'], { cwd: join(folder, 'packages/agent'), encoding: 'utf8' })
  const apart = ['.git', '.svn', '.hg', '.bzr', '.jj', '.sl'].map((name) => `--glob=!**/${name}`)
  return () =>
    new Promise((resolve, reject) => {
      const child = spawn(rg, ['--no-config', '--color=never', '--hidden', '--no-require-git', ...args, ...apart, ...last], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
      let found = ''
      child.stdout.setEncoding('utf8').on('data', (piece) => (found += piece))
      child.once('error', reject).once('close', () => resolve(found.split('\0').length))
    })
}

async function agentIn(folder) {
  return import(pathToFileURL(join(folder, 'packages/agent/dist/index.js')).href)
}

/** One tool, as in a session or alone. */
async function toolOf({ cwd, root: folder }, name, inputOf, { alone = false } = {}) {
  const { createCodingTools, createReadTool, Workspace } = await agentIn(folder)
  const { AgentState } = await import(pathToFileURL(join(folder, 'packages/core/dist/index.js')).href)
  const workspace = new Workspace({ cwd })
  const tool = alone ? createReadTool(workspace) : createCodingTools(workspace).find((each) => each.name === name)
  const state = AgentState.empty()
  const { signal } = new AbortController()
  return async (at) => {
    const { input } = tool.validate(inputOf(at))
    const output = await tool.execute(input, { callId: `call_${at}`, toolName: name, agentType: null, signal, state, memos: [], idempotencyKey: 'key', progress: () => undefined })
    if (output.isError === true) throw new Error(String(output.content))
  }
}

/** The file was read once, and each edit knows the one before. */
async function editsOf(place) {
  const { createCodingTools, Workspace } = await agentIn(place.root)
  const { AgentState } = await import(pathToFileURL(join(place.root, 'packages/core/dist/index.js')).href)
  const tools = createCodingTools(new Workspace({ cwd: place.cwd }))
  const state = AgentState.empty()
  const { signal } = new AbortController()
  const use = async (name, input) => {
    const tool = tools.find((each) => each.name === name)
    const output = await tool.execute(tool.validate(input).input, { callId: 'call', toolName: name, agentType: null, signal, state, memos: [], idempotencyKey: 'key', progress: () => undefined })
    if (output.isError === true) throw new Error(String(output.content))
  }
  for (let at = 0; at < filesRead; at += 1) await use('Read', { file_path: `src/${at}.ts` })
  await use('Write', { file_path: 'src/0.ts', content: text.replace('sum', 'sum0') })
  return (at) => use('Edit', { file_path: 'src/0.ts', old_string: `sum${at} `, new_string: `sum${at + 1} ` })
}

/** Turns of one run of the agent, in memory: the next request to the model includes the previous turn. */
async function turnsOf({ cwd, root: folder }, name, inputOf) {
  const { codingAgent } = await agentIn(folder)
  const { tool } = await import(pathToFileURL(join(folder, 'packages/core/dist/index.js')).href)
  const asked = queue()
  const replies = queue()
  const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const model = {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call(_request, { emit }) {
      asked.put(undefined)
      const at = await replies.take()
      const block = { type: 'tool_use', id: `call_${at}`, name, input: inputOf(at) }
      emit({ type: 'block', index: 0, block, messageId: `msg_${at}` })
      return { message: { role: 'assistant', id: `msg_${at}`, model: 'bench', content: [block], stop_reason: 'tool_use', usage } }
    },
  }
  const nothing = tool({ name: 'Nothing', description: 'Does nothing', inputSchema: { type: 'object', properties: { at: { type: 'string' } } }, readOnly: true, execute: ({ at }) => `${at} ${text}` })
  const env = { PATH: process.env['PATH'], HOME: cwd }
  const builder = await codingAgent({ cwd, model, env, tools: [nothing], allowedTools: ['Nothing'], persistSession: false, maxTurns: 100_000 })
  const engine = await builder.engine()
  void (async () => {
    for await (const message of engine.submit('Go.'))
      if (message.type === 'result') throw new Error(`ended: ${message.terminal_reason} ${JSON.stringify(message)}`)
  })()
  await asked.take()
  return async (at) => {
    replies.put(at)
    await asked.take()
  }
}

function queue() {
  const held = []
  const waiting = []
  return {
    put(value) {
      const next = waiting.shift()
      if (next === undefined) held.push(value)
      else next(value)
    },
    take: () => (held.length > 0 ? Promise.resolve(held.shift()) : new Promise((resolve) => waiting.push(resolve))),
  }
}

async function report() {
  const repeats = numberOf('repeats', 7)
  const before = textOf('before', '')
  const node = textOf('node', process.execPath)
  const only = textOf('only', '').split(',').filter(Boolean)
  const names = Object.keys(work).filter((name) => only.length === 0 || only.some((each) => name.startsWith(each)))
  heading('The file tools')
  const builds = before === '' ? [here] : [before, here]
  const samples = new Map()
  const until = performance.now() + numberOf('minutes', Infinity) * 60_000
  let done = 0
  for (; done < repeats && performance.now() < until; done += 1)
    for (const name of names)
      for (const build of builds) {
        const isBare = name.includes('bare')
        if (isBare && build !== here) continue
        const key = `${name} ${build}`
        const said = execFileSync(node, ['--no-warnings', fileURLToPath(import.meta.url), 'child', build, name], { encoding: 'utf8' })
        samples.set(key, [...(samples.get(key) ?? []), Number(said)])
      }
  const figure = (name, build) => median(samples.get(`${name} ${build}`))
  const rows = names.map((name) => {
    const bare = names.find((other) => other === `${name.split('/')[0]}/bare`)
    const cells = builds.map((build) => {
      if (name.includes('bare') && build !== here) return ''
      const value = figure(name, build)
      const ratio = bare === undefined || bare === name ? '' : ` (${(value / figure(bare, here)).toFixed(1)}×)`
      return ms(value) + ratio
    })
    return [name.replace('/', ', '), ...cells]
  })
  console.log(`CPU of the process and its children, of one call once it is compiled; medians of ${done} fresh processes each, taken in turns.\n`)
  console.log(table(['', ...(before === '' ? ['ms'] : ['before, ms', 'now, ms'])], rows))
}
