// The costs of a prompt in the terminal programs: from the start to the first request, to the end of one reply, and for ten turns that read a file; the
// maximum memory of one of their processes. With ten MCP servers: when the first request comes. See README.md.
// Run: node bench/terminal.mjs [--repeats=7] [--peers=FOLDER] [--only=halting,claude] [--node=PATH]. Needs a build. FOLDER holds node_modules with the peers; those
// that are missing are left out.
import { fork, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const repeats = numberOf('repeats', 7)
const turns = 10
const limitMs = 60_000
const node = textOf('node', process.execPath)
const peers = join(textOf('peers', here), 'node_modules')

/** How each program is started with the service at `url`, in a home of its own. */
const programs = {
  halting: ({ url }) => ({
    command: [node, join(here, '../packages/cli/bin/halting.js'), '-p', 'hi'],
    env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url },
  }),
  claude: ({ url }) => ({
    package: '@anthropic-ai/claude-code',
    command: [join(peers, '.bin/claude'), '-p', 'hi'],
    env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
  }),
  codex: ({ url }) => ({
    package: '@openai/codex',
    command: [
      ...[join(peers, '.bin/codex'), 'exec', '--skip-git-repo-check', '-m', 'gpt-5-codex', '-c', 'model_provider="local"'],
      ...['-c', `model_providers.local={name="local",base_url="${url}/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`, 'hi'],
    ],
    env: { OPENAI_API_KEY: 'k' },
  }),
  pi: ({ url, home }) => {
    write(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { anthropic: { baseUrl: url } } }))
    return {
      package: '@earendil-works/pi-coding-agent',
      // It asks for Node.js 22.19.
      command: [node, join(peers, '.bin/pi'), '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', '-p', 'hi'],
      env: { ANTHROPIC_API_KEY: 'k', PI_OFFLINE: '1' },
    }
  },
  gemini: ({ url, home }) => {
    write(join(home, '.gemini/settings.json'), JSON.stringify({ security: { auth: { selectedType: 'gemini-api-key' } }, privacy: { usageStatisticsEnabled: false } }))
    return {
      package: '@google/gemini-cli',
      command: [join(peers, '.bin/gemini'), '--skip-trust', '-m', 'gemini-2.5-flash', '-p', 'hi'],
      env: { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
    }
  },
  opencode: ({ url }) => ({
    package: 'opencode-ai',
    command: [join(peers, '.bin/opencode'), 'run', '--model', 'anthropic/claude-sonnet-4-5', 'hi'],
    env: {
      ANTHROPIC_API_KEY: 'k',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ autoupdate: false, provider: { anthropic: { options: { baseURL: `${url}/v1`, apiKey: 'k' } } } }),
    },
  }),
}

heading('Terminal programs')
const only = textOf('only', '').split(',').filter(Boolean)
const service = fork(join(here, 'lib/service.mjs'))
const folder = mkdtempSync(join(tmpdir(), 'halting-terminal-'))
try {
  const { port } = await nextMessage()
  const url = `http://127.0.0.1:${port}`
  await reportPrograms(url)
  if (only.length === 0 || only.includes('mcp')) await reportServers(url)
} finally {
  service.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function reportPrograms(url) {
  const measured = []
  const leftOut = []
  for (const [name, of] of Object.entries(programs)) {
    if (only.length > 0 && !only.includes(name)) continue
    const home = placeOf(name)
    const program = { name, home, ...of({ url, home }) }
    if (program.package !== undefined && !existsSync(join(peers, program.package))) {
      leftOut.push(`${name}: not installed`)
      continue
    }
    // The first run of each is not counted: it fills the caches for later ones.
    const first = await play(program, turns)
    if (first.problem === undefined) measured.push({ ...program, samples: { reply: [], reading: [] } })
    else leftOut.push(`${name}: ${first.problem}`)
  }
  // Measured alternately, so that a busy moment affects all.
  for (let round = 0; round < repeats; round++) {
    for (const program of measured) {
      program.samples.reply.push(await play(program, 0))
      program.samples.reading.push(await play(program, turns))
    }
  }
  const rows = measured.map(({ name, package: of, samples: { reply, reading } }) => [
    of === undefined ? name : `${name} ${versionOf(of)}`,
    ...[reply.map(({ firstMs }) => firstMs), reply.map(({ wallMs }) => wallMs)].map(leastAndMiddle),
    median(reply.map(({ rssMb }) => rssMb)).toFixed(0),
    leastAndMiddle(reading.map(({ turnMs }) => turnMs)),
    median(reading.map(({ rssMb }) => rssMb)).toFixed(0),
  ])
  const head = ['least (median)', 'to the first request, ms', 'one reply, ms', 'max RSS, MB', `a Read turn of ${turns}, ms`, 'max RSS, MB']
  console.log(`${table(head, rows)}\n`)
  for (const each of leftOut) console.log(`Not measured: ${each}`)
}

/** Ten servers, some of which take five seconds. */
async function reportServers(url) {
  const rows = []
  for (const slow of [0, 3, 10]) {
    const home = placeOf(`mcp-${slow}`)
    const server = (_, index) => [`server${index}`, { command: node, args: [join(here, 'lib/slow-mcp.mjs'), index < slow ? '5000' : '0'] }]
    const config = join(home, 'mcp.json')
    write(config, JSON.stringify({ mcpServers: Object.fromEntries(Array.from({ length: 10 }, server)) }))
    const { command, env } = programs.halting({ url, home })
    const samples = []
    for (let round = 0; round < Math.min(repeats, 3); round++) samples.push(await play({ home, command: [...command, '--mcp-config', config], env }, 0))
    const problem = samples.find((sample) => sample.problem !== undefined)?.problem
    rows.push([`${10 - slow} that answer at once, ${slow} after 5 s`, problem ?? leastAndMiddle(samples.map(({ firstMs }) => firstMs)), leastAndMiddle(samples.map(({ wallMs }) => wallMs))])
  }
  console.log(`\n### halting with ten MCP servers\n\n${table(['least (median)', 'to the first request, ms', 'one reply, ms'], rows)}`)
}

/** One process from its start to its end, with its children. */
async function play({ home, command, env }, calls) {
  await ask({ begin: { files: Array.from({ length: calls }, (_, number) => notesIn(home, number)) } })
  const began = performance.timeOrigin + performance.now()
  const [program, ...parameters] = command
  const cost = join(home, 'cost.txt')
  const child = spawn('/usr/bin/time', ['-o', cost, '-f', '%M', program, ...parameters], {
    cwd: join(home, 'work'),
    env: { PATH: process.env.PATH, HOME: home, TERM: 'dumb', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  })
  let errors = ''
  child.stderr.on('data', (text) => (errors += text))
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), limitMs)
  const status = await new Promise((resolve) => child.once('exit', resolve))
  clearTimeout(timer)
  const wallMs = performance.timeOrigin + performance.now() - began
  const { moments } = await ask({})
  if (status !== 0) return { problem: `it ended with ${status ?? 'a signal'} after ${moments.length} requests: ${errors.trim().split('\n').at(-1)}` }
  if (moments.length !== calls + 1) return { problem: `it made ${moments.length} requests where ${calls + 1} were expected` }
  const turnMs = calls === 0 ? 0 : (moments[calls] - moments[0]) / calls
  return { firstMs: moments[0] - began, wallMs, turnMs, rssMb: Number(readFileSync(cost, 'utf8').trim().split('\n').at(-1)) / 1_024 }
}

function placeOf(name) {
  const home = join(folder, name)
  mkdirSync(join(home, 'work'), { recursive: true })
  const line = 'A line of sixty-three characters, as notes are made of them..\n'
  for (let number = 0; number < turns; number++) writeFileSync(notesIn(home, number), `${number}\n${line.repeat(16)}`)
  return home
}

function notesIn(home, number) {
  return join(home, `work/notes-${number}.txt`)
}

function write(path, text) {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(peers, name, 'package.json'), 'utf8')).version
}

function leastAndMiddle(values) {
  return `${ms(Math.min(...values))} (${ms(median(values))})`
}

function nextMessage() {
  return new Promise((resolve) => service.once('message', resolve))
}

function ask(message) {
  const answer = nextMessage()
  service.send(message)
  return answer
}
