// What each option of a run adds to a turn: the same run with and without it, in turns, each in a process of its own.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { CallableHook, createMemorySteps, streamRun, startRun } from '@halting/core'
import { heading, median, numberOf, table } from './lib/measure.mjs'
import { deltas, inputOf, inputSchema, inputTokens, lastWords, outputTokens, replyText, resultOf, toolDescription, toolName } from './lib/script.mjs'

const turns = 2_000
const triggers = ['beforeStep', 'afterStep', 'beforeInference', 'afterInference', 'beforeToolUse', 'afterToolUse']
const hooks = (count) => Array.from({ length: count }, (_, index) => new CallableHook((context) => context, { id: `hook${index}`, triggers: [triggers[index % triggers.length]] }))

const prices = { cost: (_model, usage) => usage.output_tokens / 1e6, worstCase: (_model, { outputTokens }) => outputTokens / 1e6 }
const limits = { maxToolCalls: 1e9, maxRunUsd: 1e9, maxBudgetUsd: 1e9, maxTotalTokens: 1e12, maxDurationMs: 1e9, prices }
/** A budget in memory that has enough: what a file adds is measured elsewhere. */
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
  const samples = Object.fromEntries(Object.keys(variants).map((name) => [name, []]))
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const name of Object.keys(variants)) {
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), name], { encoding: 'utf8' })
      if (child.status !== 0) throw new Error(child.stderr)
      samples[name].push(Number(child.stdout))
    }
  }
  const plain = median(samples.nothing)
  const rows = Object.entries(samples).map(([name, taken]) => [name, median(taken).toFixed(1), (median(taken) / plain).toFixed(2)])
  console.log(table(['', 'CPU, µs a turn', 'to nothing'], rows))
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
