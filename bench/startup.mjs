// The costs of a start: the import of the library, `halting --version`, and a prompt that is answered at once. See README.md.
// Run: node bench/startup.mjs [--repeats=25] [--node=PATH] [--before=CHECKOUT] [--only=prompt]; the prompt alone needs none of the peers. If
// NODE_EXTRA_CA_CERTS is set, the prompt is measured with it as well: Node reads those certificates before anything else.
// With --check it measures 20 rounds, or --repeats, compares them with startup-budget.json and exits with 1 if a figure is more than a tenth above its
// budget; --write stores the measured figures as the budget. Needs a build; its counts are in .tmp/startup.json.
import { fork, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, median, medians, ms, numberOf, table, textOf } from './lib/measure.mjs'

const isCheck = process.argv.includes('--check')
const isWriting = process.argv.includes('--write')
const runs = numberOf('repeats', isCheck || isWriting ? 20 : 25)
const budgetFile = new URL('./startup-budget.json', import.meta.url)
/** How far a figure may exceed its budget. */
const tolerance = 1.1
const here = fileURLToPath(new URL('.', import.meta.url))
const self = fileURLToPath(import.meta.url)
const costs = fileURLToPath(new URL('./lib/cost.cjs', import.meta.url))
const program = fileURLToPath(new URL('../packages/cli/bin/halting.js', import.meta.url))
/** The program of another checkout, which is measured alternately with this one. */
const before = textOf('before', '') === '' ? undefined : join(textOf('before', ''), 'packages/cli/bin/halting.js')

/** Wall time of one process, from spawn to exit. @param {readonly string[]} parameters */
function wall(parameters) {
  const began = performance.now()
  const { status } = spawnSync(process.execPath, parameters, { cwd: here, stdio: 'ignore' })
  if (status !== 0) throw new Error(`node ${parameters.join(' ')} failed`)
  return performance.now() - began
}

/** Measures each alternately, so that a busy moment affects all. @param {Record<string, readonly string[]>} commands */
function taken(commands) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]))
  for (let run = 0; run < runs; run++) for (const [name, parameters] of Object.entries(commands)) times[name].push(wall(parameters))
  return times
}

const importOf = (name) => ['--input-type=module', '-e', `await import(${JSON.stringify(name)})`]

async function report() {
  heading('Startup')
  const only = textOf('only', '')
  if (only === '') reportImports()
  if (only === '') reportVersions()
  if (only === '' || only === 'prompt') await reportPrompt()
}

function reportImports() {
  const bare = 'nothing'
  const imports = taken({
    [bare]: ['--input-type=module', '-e', '0'],
    '@halting/core': importOf('@halting/core'),
    '@earendil-works/pi-agent-core': importOf('@earendil-works/pi-agent-core'),
    'ai': importOf('ai'),
  })
  const importRows = Object.entries(imports).map(([name, times]) => {
    const [least, middle] = [Math.min(...times), median(times)]
    return [name, ms(least), ms(middle), ms(least - Math.min(...imports[bare])), ms(middle - median(imports[bare]))]
  })
  console.log(`### Import, ${runs} fresh processes each\n`)
  console.log(table(['`await import` of', 'min, ms', 'median, ms', 'min above nothing', 'median above nothing'], importRows))
}

function reportVersions() {
  const versions = taken({ 'node -e 0': ['-e', '0'], 'halting --version': [program, '--version'] })
  const base = versions['node -e 0']
  const versionRows = Object.entries(versions).map(([name, times]) => [
    name,
    ms(Math.min(...times)),
    ms(median(times)),
    (Math.min(...times) / Math.min(...base)).toFixed(2),
    (median(times) / median(base)).toFixed(2),
  ])
  console.log(`\n### Version, ${runs} fresh processes each\n`)
  console.log(table(['', 'min, ms', 'median, ms', 'ratio of mins', 'ratio of medians'], versionRows))
}

/** What one process costs in all its threads, compared with one that does nothing. */
async function reportPrompt() {
  const node = textOf('node', process.execPath)
  await withService((env) => {
    const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
    const title = `A prompt that is answered at once, ${runs} fresh processes each, Node ${stdout.trim().slice(1)}`
    reportPromptIn(title, node, { env, cwd: env.HOME })
    const { NODE_EXTRA_CA_CERTS } = process.env
    if (NODE_EXTRA_CA_CERTS === undefined) return
    reportPromptIn(`${title}, with NODE_EXTRA_CA_CERTS`, node, { env: { ...env, NODE_EXTRA_CA_CERTS }, cwd: env.HOME })
  })
}

/** Calls a function with the environment of a program whose service is a process of its own. */
async function withService(measure) {
  const home = mkdtempSync(join(tmpdir(), 'halting-startup-'))
  const service = fork(self, ['serve'])
  try {
    const port = await new Promise((resolve) => service.once('message', resolve))
    return measure({ PATH: process.env.PATH, HOME: home, ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` })
  } finally {
    service.kill()
    rmSync(home, { recursive: true, force: true })
  }
}

const bare = 'node -e 0'

/** The costs of each of the commands, measured alternately. @param {string} node @param {{ env: NodeJS.ProcessEnv, cwd: string }} options */
function samplesOf(node, options) {
  const commands = { [bare]: ['-e', '0'], 'halting --version': [program, '--version'], 'halting -p hi': [program, '-p', 'hi'], ...(before === undefined ? {} : { 'before: halting -p hi': [before, '-p', 'hi'] }) }
  const samples = Object.fromEntries(Object.keys(commands).map((name) => [name, []]))
  // The first run of each is not counted: it fills the caches for later ones.
  for (let round = 0; round <= runs; round++) {
    for (const [name, parameters] of Object.entries(commands)) {
      const cost = costOf(node, parameters, options)
      if (round > 0) samples[name].push(cost)
    }
  }
  return samples
}

/** @param {string} title @param {string} node @param {{ env: NodeJS.ProcessEnv, cwd: string }} options */
function reportPromptIn(title, node, options) {
  const samples = samplesOf(node, options)
  const least = (name) => Math.min(...samples[name].map(({ cpuMs }) => cpuMs))
  const rows = Object.keys(samples).map((name) => {
    const { cpuMs, maxRssMb } = medians(samples[name])
    const ratios = [least(name) / least(bare), cpuMs / medians(samples[bare]).cpuMs]
    return [name, ms(least(name)), ms(cpuMs), ...ratios.map((ratio) => ratio.toFixed(2)), maxRssMb.toFixed(0)]
  })
  console.log(`\n### ${title}\n`)
  console.log(table(['', 'CPU, min, ms', 'CPU, median, ms', 'ratio of mins', 'ratio of medians', 'max RSS, MB'], rows))
}

/** @param {string} node @param {readonly string[]} parameters @param {{ env: NodeJS.ProcessEnv, cwd: string }} options */
function costOf(node, parameters, options) {
  const stdio = ['ignore', 'ignore', 'inherit', 'pipe']
  const { status, output } = spawnSync(node, ['--require', costs, ...parameters], { ...options, stdio, encoding: 'utf8' })
  if (status !== 0) throw new Error(`node ${parameters.join(' ')} failed`)
  return JSON.parse(output[3])
}

/** Answers every request at once with one word, streamed as by the Messages API. */
function serve() {
  const usage = { input_tokens: 10, output_tokens: 1 }
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage }
  const events = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]
  const stream = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  const service = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream))
  })
  service.listen(0, '127.0.0.1', () => process.send(service.address().port))
}

/** CPU as a multiple of that of bare Node, by the minimum of each, and the maximum of memory above that of bare Node. */
async function figures() {
  const node = textOf('node', process.execPath)
  return withService((env) => {
    const { [bare]: none, ...samples } = samplesOf(node, { env, cwd: env.HOME })
    const least = (costs) => Math.min(...costs.map(({ cpuMs }) => cpuMs))
    const entries = Object.entries(samples).map(([name, costs]) => [
      name,
      {
        cpuTimesBare: Number((least(costs) / least(none)).toFixed(2)),
        megabytesAboveBare: Number((medians(costs).maxRssMb - medians(none).maxRssMb).toFixed(1)),
      },
    ])
    return Object.fromEntries(entries)
  })
}

/** Compares the figures with the budget. @returns {Promise<boolean>} Whether they are within it. */
async function check() {
  const budget = JSON.parse(readFileSync(budgetFile, 'utf8'))
  const measurements = await figures()
  let passed = 0
  let failed = 0
  for (const [command, limits] of Object.entries(budget)) {
    for (const [figure, limit] of Object.entries(limits)) {
      const found = measurements[command][figure]
      const isOver = found > limit * tolerance
      if (isOver) failed += 1
      else passed += 1
      console.log(`${isOver ? 'OVER BUDGET ' : ''}${command}: ${figure} ${found}, budget ${limit}`)
    }
  }
  const folder = new URL('../.tmp/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL('startup.json', folder), JSON.stringify({ passed, failed }))
  return failed === 0
}

if (process.argv[2] === 'serve') serve()
else if (isWriting) writeFileSync(budgetFile, `${JSON.stringify(await figures(), null, 2)}\n`)
else if (isCheck) process.exitCode = (await check()) ? 0 : 1
else await report()
