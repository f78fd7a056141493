// What each option of a run adds to a turn: the same run with and without it, alternately, each in a process of its own.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { heading, median, node, numberOf, table, textOf } from './lib/measure.mjs'
import { deltas, inputOf, inputSchema, inputTokens, lastWords, outputTokens, replyText, resultOf, toolDescription, toolName } from './lib/script.mjs'

/** `--before=FOLDER` also measures the core of another checkout that was built, alternately with this one. */
const before = textOf('before', '')
const builds = { now: '@halting/core', ...(before === '' ? {} : { before: pathToFileURL(resolve(before, 'packages/core/dist/index.js')).href }) }
const { CallableHook, createMemorySteps, streamRun, startRun } = await import(process.env.HALTING_BENCH_CORE ?? builds.now)

const turns = numberOf('turns', 2_000)
const triggers = ['beforeStep', 'afterStep', 'beforeInference', 'afterInference', 'beforeToolUse', 'afterToolUse']
const hooks = (count) => Array.from({ length: count }, (_, index) => new CallableHook((context) => context, { id: `hook${index}`, triggers: [triggers[index % triggers.length]] }))

const prices = { cost: (_model, usage) => usage.output_tokens / 1e6, worstCase: (_model, { outputTokens }) => outputTokens / 1e6 }
const limits = { maxToolCalls: 1e9, maxRunUsd: 1e9, maxBudgetUsd: 1e9, maxTotalTokens: 1e12, maxDurationMs: 1e9, prices }
/** A budget in memory that is never exhausted: the cost of a file is measured elsewhere. */
const purse = { names: ['a purse'], countsFor: () => true, take: ({ usd }) => ({ kind: 'taken', usd, settle() {} }) }

/** @type {Record<string, () => object>} */
const variants = {
  'nothing': () => ({}),
  'createMemorySteps()': () => ({ steps: createMemorySteps() }),
  'maxTotalTokens': () => ({ maxTotalTokens: 1e12 }),
  'maxToolCalls': () => ({ maxToolCalls: 1e9 }),
  'maxRunUsd': () => ({ maxRunUsd: 1e9, prices }),
  'all limits, and reminders': () => ({ ...limits, limitReminders: true }),
  'all limits, reminders, a standing budget': () => ({ ...limits, limitReminders: true, standing: purse }),
  'permissions': () => ({ permissions: { denies: () => undefined, decide: () => ({ behavior: 'allow' }) } }),
  'one hook': () => ({ hooks: hooks(1) }),
  'ten hooks': () => ({ hooks: hooks(10) }),
}

const only = process.argv[2]
if (only !== undefined && only in variants) {
  await play(1_000, variants[only]())
  const { user, system } = process.cpuUsage()
  await play(turns, variants[only]())
  const after = process.cpuUsage()
  process.stdout.write(String((after.user - user + after.system - system) / turns))
} else {
  heading('What options cost')
  const repeats = numberOf('repeats', 7)
  console.log('CPU of one turn with one tool call, compiled; medians of fresh processes, taken in turns.\n')
  const wanted = textOf('variants', Object.keys(variants).join()).split(',')
  const samples = Object.fromEntries(wanted.map((name) => [name, { before: [], now: [] }]))
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const [name, taken] of Object.entries(samples)) {
      for (const [build, core] of Object.entries(builds)) {
        const env = { ...process.env, HALTING_BENCH_CORE: core }
        const child = spawnSync(node, [fileURLToPath(import.meta.url), name, `--turns=${turns}`], { encoding: 'utf8', env })
        if (child.status !== 0) throw new Error(child.stderr)
        taken[build].push(Number(child.stdout))
      }
    }
  }
  const columns = Object.keys(builds)
  const rows = Object.entries(samples).map(([name, taken]) => [
    name,
    ...columns.map((build) => median(taken[build]).toFixed(1)),
    ...columns.map((build) => (median(taken[build]) / median(samples.nothing[build])).toFixed(2)),
  ])
  console.log(table(['', ...columns.map((build) => `CPU, µs a turn: ${build}`), ...columns.map((build) => `to nothing: ${build}`)], rows))
}

/** @param {number} count @param {object} options */
async function play(count, options) {
  const usage = { input_tokens: inputTokens, output_tokens: outputTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  let turn = 0
  const model = {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call(_request, { emit }) {
      const id = `msg_${turn}`
      const isLast = turn >= count
      const text = { type: 'text', text: isLast ? lastWords : replyText }
      for (const delta of isLast ? [lastWords] : deltas) emit({ type: 'text_delta', index: 0, text: delta })
      emit({ type: 'block', index: 0, block: text, messageId: id })
      if (isLast) return { message: { role: 'assistant', id, model: 'bench', content: [text], stop_reason: 'end_turn', usage } }
      const call = { type: 'tool_use', id: `call_${turn}`, name: toolName, input: inputOf(turn++) }
      emit({ type: 'block', index: 1, block: call, messageId: id })
      return { message: { role: 'assistant', id, model: 'bench', content: [text, call], stop_reason: 'tool_use', usage } }
    },
  }
  const tool = { name: toolName, description: toolDescription, inputSchema, readOnly: true, execute: async ({ path }) => resultOf(path) }
  const { reason } = await streamRun(startRun({ prompt: 'Go.' }), { model, tools: [tool], maxTurns: count + 1, ...options }).result
  if (reason !== 'completed') throw new Error(`The run ended as ${reason}.`)
}
