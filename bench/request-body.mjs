// What the body of a request costs, compared with `JSON.stringify` of the whole. Run: node bench/request-body.mjs [--repeats=7]
// It needs no build: the sources are bundled in memory. Every figure is of a process of its own.
import { spawnSync } from 'node:child_process'
import { PerformanceObserver } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { heading, median, medians, ms, numberOf, table } from './lib/measure.mjs'
import { inputOf, inputSchema, replyText, resultOf, toolDescription, toolName } from './lib/script.mjs'

const sizes = [10, 100, 1_000]
const ways = {
  'JSON.stringify': (request) => JSON.stringify(wholeOf(request)),
  'JSON.stringify, encoded': (request) => Buffer.from(JSON.stringify(wholeOf(request))),
  'halting': (request, { bodyOf, releaseBody }) => releaseBody(bodyOf(request)),
  'halting, never released': (request, { bodyOf }) => bodyOf(request),
}

const [kind, way, size] = process.argv.slice(2)
if (kind === 'child') process.stdout.write(JSON.stringify(await measure(way, Number(size))))
else if (kind === 'memory') process.stdout.write(JSON.stringify(await memory()))
else report()

function report() {
  heading('The body of a request')
  const repeats = numberOf('repeats', 7)
  for (const turns of sizes) {
    const figures = Object.keys(ways).map((name) => medians(Array.from({ length: repeats }, () => inChild('child', name, String(turns)))))
    const [whole] = figures
    const rows = Object.keys(ways).map((name, index) => {
      const { timeMs, allocated, bytes } = figures[index]
      const less = (key) => (whole[key] / figures[index][key]).toFixed(1)
      return [name, ms(timeMs), less('timeMs'), kb(allocated), less('allocated'), kb(bytes)]
    })
    console.log(`### ${turns.toLocaleString('en-US')} turns\n`)
    console.log(`${table(['', 'ms', 'times less', 'allocated, KB', 'times less', 'body, KB'], rows)}\n`)
  }
  const held = medians(Array.from({ length: 3 }, () => inChild('memory')))
  console.log('### Memory after 1,000 requests\n')
  console.log(table(['transcript as JSON, KB', 'its objects, KB', 'kept for bodies, KB', 'to the JSON'], [
    [kb(held.json), kb(held.objects), kb(held.kept), (held.kept / held.json).toFixed(2)],
  ]))
}

function inChild(...parameters) {
  const flags = ['--expose-gc', '--min-semi-space-size=64', '--max-semi-space-size=64']
  const { stdout, status } = spawnSync(process.execPath, [...flags, fileURLToPath(import.meta.url), ...parameters], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${parameters.join(' ')} failed`)
  return JSON.parse(stdout)
}

/** Requests of sessions with `turns` turns: how long the next ones take, and what they allocate. */
async function measure(name, turns) {
  const make = ways[name]
  const library = await sources()
  const times = []
  const allocations = []
  let bytes = 0
  let collections = 0
  const observer = new PerformanceObserver((list) => (collections += list.getEntries().length))
  observer.observe({ entryTypes: ['gc'] })
  const sessions = turns >= 1_000 ? 12 : turns >= 100 ? 60 : 300
  for (let session = 0; session < sessions; session++) {
    const tools = { bodyOf: library.createRequestBody({ model: 'claude-sonnet-5', id: 'claude-sonnet-5' }), releaseBody: library.releaseBody }
    const request = requestOf([{ role: 'user', content: 'Look at every file.' }])
    for (let turn = 0; turn < turns; turn++) {
      addTurn(request, turn)
      // One request per turn, as in a session; the others only warm up.
      if (name.startsWith('halting') || turn > turns - 4) make(request, tools)
    }
    if (session % 4 === 3) globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
    for (let more = 0; more < 3; more++) {
      addTurn(request, turns + more)
      const before = collections
      const held = allocated()
      const began = performance.now()
      const made = make(request, tools)
      const took = performance.now() - began
      const grew = allocated() - held
      await new Promise((resolve) => setImmediate(resolve))
      // The first sessions warm up. A collection makes the difference meaningless.
      if (session < sessions / 4) continue
      times.push(took)
      if (collections === before) allocations.push(grew)
      bytes = made?.length ?? bytes
    }
    if (bytes === 0) bytes = tools.bodyOf(request).length
  }
  observer.disconnect()
  if (allocations.length < 5) throw new Error(`${name}: too many collections`)
  return { timeMs: median(times), allocated: mean(allocations), bytes }
}

/** A session of 1,000 requests: the memory that remains when it is over and its messages still exist. */
async function memory() {
  const library = await sources()
  const json = JSON.stringify(session(() => {})).length
  const before = await settled()
  const plain = session(() => {})
  const objects = (await settled()) - before
  const start = await settled()
  const bodyOf = library.createRequestBody({ model: 'claude-sonnet-5', id: 'claude-sonnet-5' })
  const used = session((request) => library.releaseBody(bodyOf(request)))
  const kept = (await settled()) - start - objects
  // Both are alive until here, and so is the adapter.
  return { json, objects, kept, alive: plain.length + used.length + bodyOf(requestOf(used)).length }
}

function session(ask) {
  const request = requestOf([{ role: 'user', content: 'Look at every file.' }])
  for (let turn = 0; turn < 1_000; turn++) {
    ask(request)
    addTurn(request, turn)
  }
  return request.messages
}

/** Memory in use after a full collection. */
async function settled() {
  for (let times = 0; times < 5; times++) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return allocated()
}

function allocated() {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function requestOf(messages) {
  const tools = [{ name: toolName, description: toolDescription, input_schema: inputSchema }]
  return { system: 'You look at files. '.repeat(100), tools, messages, maxTokens: 32_000, idempotencyKey: 'k' }
}

/** A reply with one call, and its result of 1 KB. */
function addTurn({ messages }, turn) {
  const id = `toolu_${String(turn).padStart(24, '0')}`
  const content = [
    { type: 'text', text: replyText },
    { type: 'tool_use', id, name: toolName, input: inputOf(turn) },
  ]
  // Flat strings, like those that tools return.
  const text = Buffer.from(resultOf(`src/file-${turn}.ts`)).toString()
  messages.push({ role: 'assistant', content, by: 'claude-sonnet-5' }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] })
}

function wholeOf({ system, tools, messages, maxTokens }) {
  return { model: 'claude-sonnet-5', max_tokens: maxTokens, stream: true, system: [{ type: 'text', text: system }], tools, messages }
}

async function sources() {
  const path = (file) => fileURLToPath(new URL(`../packages/${file}`, import.meta.url))
  const contents = `export { createRequestBody } from ${JSON.stringify(path('models/src/anthropic/request-body.ts'))}
    export { releaseBody } from ${JSON.stringify(path('models/src/bytes/bodies.ts'))}`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: path('models') },
    // The longer name first: an alias also applies to names that begin with it.
    alias: { '@halting/core/adapters': path('core/src/entries/adapters.ts'), '@halting/core': path('core/src/index.ts') },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function kb(bytes) {
  return (bytes / 1_000).toFixed(bytes < 100_000 ? 1 : 0)
}
