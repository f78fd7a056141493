// What a long session costs if its window fills up: tokens and dollars by the provider's cache, and the time to prepare a turn. See README.md.
// Run: node bench/context.mjs [--turns=2000] [--window=30000] [--only=money|time]. Needs a build.
import { createHash } from 'node:crypto'
import { streamRun, startRun } from '@halting/core'
import { contextLayers, plainContext } from '@halting/core/adapters'
import { heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'

const only = textOf('only', '')

/** A provider that counts 1.4 times the estimated tokens, refuses requests larger than its window, and stores every prefix in its cache. */
function provider({ window, turns, output = 60 }) {
  const known = new Set()
  const sizes = new WeakMap()
  const sent = new Set()
  const figures = { requests: 0, first: 0, refused: 0, summaries: 0, uncached: 0, cached: 0, output: 0, dollars: 0 }
  const sizeOf = (message) => {
    const before = sizes.get(message)
    if (before !== undefined) return before
    const text = JSON.stringify(message)
    const size = { tokens: Math.ceil((1.4 * text.length) / 4), hash: createHash('sha1').update(text).digest('base64') }
    sizes.set(message, size)
    return size
  }
  let turn = 0
  const model = {
    id: 'bench',
    contextWindow: window,
    maxOutputTokens: 64_000,
    async call({ system, tools, messages }) {
      let chain = createHash('sha1').update(system).update(JSON.stringify(tools)).digest('base64')
      let total = Math.ceil((1.4 * (system.length + JSON.stringify(tools).length)) / 4)
      let cached = known.has(chain) ? total : 0
      const prefixes = [chain]
      for (const message of messages) {
        const { tokens, hash } = sizeOf(message)
        chain = createHash('sha1').update(chain).update(hash).digest('base64')
        total += tokens
        if (known.has(chain)) cached = total
        if (!sent.has(hash)) figures.first += tokens
        sent.add(hash)
        prefixes.push(chain)
      }
      figures.requests++
      if (total > window) {
        figures.refused++
        const { ModelError } = await import('@halting/core')
        throw new ModelError({ kind: 'prompt_too_long', message: 'prompt is too long', status: 413 })
      }
      // From now on, the prefix that ends with the last message is in the cache, and so are its own prefixes.
      for (const prefix of prefixes) known.add(prefix)
      const last = messages.at(-1)
      const isSummary = JSON.stringify(last.content).includes('ummar')
      const written = isSummary ? 800 : output
      figures.uncached += total - cached
      figures.cached += cached
      figures.output += written
      // Dollars per million tokens: 3 for input, 3.75 written to the cache, 0.30 read from it, 15 for output.
      figures.dollars += ((total - cached) * 3.75 + cached * 0.3 + written * 15) / 1e6
      const usage = { input_tokens: 0, output_tokens: written, cache_creation_input_tokens: total - cached, cache_read_input_tokens: cached }
      const id = `msg_${figures.requests}`
      const message = { role: 'assistant', id, model: 'bench', stop_sequence: null, usage }
      if (isSummary) {
        figures.summaries++
        return { message: { ...message, content: [{ type: 'text', text: 'What was done so far. '.repeat(100) }], stop_reason: 'end_turn' } }
      }
      if (turn >= turns) return { message: { ...message, content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' } }
      const call = { type: 'tool_use', id: `call_${turn}`, name: 'Read', input: { file_path: `/src/file_${turn++}.ts` } }
      return { message: { ...message, content: [{ type: 'text', text: 'I look at the next file, since it may hold what is missing.' }, call], stop_reason: 'tool_use' } }
    },
  }
  return { model, figures }
}

/** Results of 0.2 to 20 kB, most of them small, the same in every run. */
function resultOf(path) {
  const seed = Number.parseInt(createHash('sha1').update(path).digest('hex').slice(0, 6), 16) / 0xffffff
  return `${path}\n${'const value = compute(input, 42)\n'.repeat(Math.ceil((200 + 19_800 * seed ** 3) / 33))}`
}

const tool = {
  name: 'Read',
  description: 'Reads a file.',
  inputSchema: { type: 'object', properties: { file_path: { type: 'string' } } },
  readOnly: true,
  execute: ({ file_path: path }) => resultOf(path),
}

async function session({ turns, window, context }) {
  const { model, figures } = provider({ window, turns })
  const system = 'You are a coding agent. '.repeat(60)
  const running = streamRun(startRun({ prompt: 'Look at all files, and keep to what I say: never write to /etc.' }), { model, system, tools: [tool], context, maxTurns: turns + 1 })
  const { terminal, state } = await running.ended
  if (terminal.reason !== 'completed') throw new Error(`${terminal.reason}: ${terminal.signal.message}`)
  return { ...figures, compactions: state.spent.compactions }
}

/** As loops do that send the conversation to a separate summarizer: nothing of it is in the provider's cache. */
function askedApart(layers) {
  return {
    ...layers,
    beforeRequest(view) {
      const due = layers.beforeRequest(view)
      if (due?.run === undefined) return due
      return { ...due, run: (scope) => due.run({ ...scope, ask: (request) => scope.ask({ ...request, system: 'You summarize conversations.', tools: [] }) }) }
    },
  }
}

async function reportMoney() {
  const turns = numberOf('turns', 2_000)
  for (const window of textOf('window', '30000,200000').split(',').map(Number)) {
    const ways = {
      'four layers': contextLayers(),
      'without collapse': contextLayers({ collapse: false }),
      'without notes': contextLayers({ clearResults: false }),
      'full compaction only': contextLayers({ clearResults: false, collapse: false }),
      'the same, asked with a prompt of its own': askedApart(contextLayers({ clearResults: false, collapse: false })),
    }
    const rows = []
    let base
    const results = []
    for (const [name, context] of Object.entries(ways)) results.push([name, await session({ turns, window, context })])
    base = results.at(-1)[1]
    for (const [name, figures] of results) {
      const { uncached, cached, first, dollars, output, summaries, compactions, refused } = figures
      const share = ((cached / (cached + uncached)) * 100).toFixed(1)
      const millions = (tokens) => (tokens / 1e6).toFixed(2)
      rows.push([name, millions(uncached), millions(uncached - first), millions(cached), `${share} %`, String(output), dollars.toFixed(2), (uncached / base.uncached).toFixed(2), (dollars / base.dollars).toFixed(2), String(summaries), String(compactions), String(refused)])
    }
    heading(`${turns} turns with a window of ${window} tokens`)
    console.log(table(['', 'uncached, M', 'sent again uncached, M', 'cached, M', 'cached share', 'output', 'dollars', 'uncached to the last row', 'dollars to the last row', 'summaries', 'compactions', 'refused'], rows))
  }
}

/** CPU of a whole run, per turn, for runs of different lengths: each turn adds the same. */
async function reportTime() {
  heading('Preparing a turn')
  const rows = []
  for (const [name, context] of [
    ['plain', plainContext],
    ['four layers, window of 200,000', contextLayers()],
    ['four layers, window of 30,000', contextLayers()],
  ]) {
    const window = name.startsWith('plain') ? Infinity : name.includes('200') ? 200_000 : 30_000
    const cells = []
    for (const turns of [100, 1_000, 10_000]) {
      const samples = []
      for (let repeat = 0; repeat < (turns > 1_000 ? 1 : 5); repeat++) samples.push(await prepared({ turns, window, context }))
      cells.push(median(samples))
    }
    rows.push([name, ...cells.map((us) => `${us.toFixed(0)} µs`), (cells[2] / cells[1]).toFixed(2)])
  }
  console.log(table(['from one reply to the next request', '100 turns', '1,000 turns', '10,000 turns', '10,000 to 1,000'], rows))
}

/** Median time from the end of a reply to the next request, over the last tenth of the turns. The tool and the model take no time. */
async function prepared({ turns, window, context }) {
  const gaps = []
  let left = 0
  let turn = 0
  const result = 'x'.repeat(1_000)
  const small = { ...tool, execute: () => result }
  const model = {
    id: 'bench',
    contextWindow: window,
    maxOutputTokens: 64_000,
    async call({ messages }) {
      if (left > 0 && turn >= turns * 0.9) gaps.push(performance.now() - left)
      const isSummary = JSON.stringify(messages.at(-1).content).includes('ummar')
      const tokens = messages.reduce((sum, message) => sum + sizeOf(message), 0)
      const message = { role: 'assistant', id: `msg_${turn}`, model: 'bench', stop_sequence: null, usage: { input_tokens: tokens, output_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 } }
      left = performance.now()
      if (isSummary || turn >= turns) return { message: { ...message, content: [{ type: 'text', text: 'So far.' }], stop_reason: 'end_turn' } }
      return { message: { ...message, content: [{ type: 'tool_use', id: `call_${turn}`, name: 'Read', input: { file_path: `/f${turn++}` } }], stop_reason: 'tool_use' } }
    },
  }
  const sizes = new WeakMap()
  function sizeOf(message) {
    let size = sizes.get(message)
    if (size === undefined) sizes.set(message, (size = Math.ceil(JSON.stringify(message).length / 4)))
    return size
  }
  const { terminal } = await streamRun(startRun({ prompt: 'Go.' }), { model, tools: [small], context, maxTurns: turns + 1 }).ended
  if (terminal.reason !== 'completed') throw new Error(`${terminal.reason}: ${terminal.signal.message}`)
  return (gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length) * 1_000
}

if (only !== 'time') await reportMoney()
if (only !== 'money') await reportTime()
