// What telemetry costs a run: the same run without it, with providers that do nothing, and with OpenTelemetry's SDK and exporters that drop everything;
// and what the SDK alone costs for the same calls. All in one process, measured alternately, medians. Needs a build.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { telemetry } from '@halting/telemetry'
import { streamRun, startRun } from '@halting/core'
import { anthropic } from '@halting/models'
import { metrics, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AggregationTemporality, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { heading, median, numberOf, table } from './lib/measure.mjs'
import { deltas, inputOf, inputSchema, inputTokens, lastWords, outputTokens, replyText, resultOf, toolDescription } from './lib/script.mjs'

const drop = {
  export: (_items, done) => done({ code: 0 }),
  forceFlush: async () => {},
  shutdown: async () => {},
  selectAggregationTemporality: () => AggregationTemporality.CUMULATIVE,
}
const sdk = {
  tracerProvider: new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(drop)] }),
  meterProvider: new MeterProvider({ readers: [new PeriodicExportingMetricReader({ exporter: drop, exportIntervalMillis: 60_000 })] }),
}
/** What the API returns if nobody has registered an SDK: spans that do not record. */
const noop = { tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() }

const usage = { input_tokens: inputTokens, output_tokens: outputTokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** A model in this process: a text in pieces and two calls per turn, at once. @param {number} turns */
function quickModel(turns) {
  let turn = 0
  return {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call(_request, { emit }) {
      const id = `msg_${turn}`
      const isLast = turn >= turns
      const text = { type: 'text', text: isLast ? lastWords : replyText }
      for (const delta of isLast ? [lastWords] : deltas) emit({ type: 'text_delta', index: 0, text: delta })
      const calls = isLast ? [] : [0, 1].map((index) => ({ type: 'tool_use', id: `call_${turn}_${index}`, name: 'Read', input: inputOf(turn) }))
      const content = [text, ...calls]
      content.forEach((block, index) => emit({ type: 'block', index, block, messageId: id }))
      turn++
      return { message: { role: 'assistant', id, model: 'bench', content, stop_reason: isLast ? 'end_turn' : 'tool_use', usage } }
    },
  }
}

/** @param {number} ms */
const toolTaking = (ms) => ({
  name: 'Read',
  description: toolDescription,
  inputSchema,
  readOnly: true,
  execute: ({ path }) => (ms === 0 ? resultOf(path) : new Promise((done) => void setTimeout(done, ms, resultOf(path)))),
})

/** Every event is read, as the program does. */
async function run(model, tool, turns, onEvent) {
  const running = streamRun(startRun({ prompt: 'Go.' }), { model, tools: [tool], maxTurns: turns + 1 })
  for await (const event of running) onEvent(event)
  const { reason } = await running.result
  if (reason !== 'completed') throw new Error(`The run ended as ${reason}.`)
}

/** All calls that a listener makes to its providers, so that they can be repeated without it. */
function recordedCalls() {
  const calls = []
  const spans = new Map()
  const span = (index) => {
    const proxy = new Proxy(trace.wrapSpanContext({ traceId: 'a'.repeat(32), spanId: String(index).padStart(16, 'b'), traceFlags: 1 }), {
      get(target, key) {
        if (key === 'isRecording') return () => true
        if (key === 'spanContext') return () => target.spanContext()
        return (...args) => {
          calls.push({ kind: 'span', index, key, args })
          return proxy
        }
      },
    })
    spans.set(proxy, index)
    return proxy
  }
  let made = 0
  const tracer = {
    startSpan(name, options, context) {
      const parent = trace.getSpan(context)
      calls.push({ kind: 'start', index: made, name, options, parent: parent === undefined ? -1 : spans.get(parent) })
      return span(made++)
    },
  }
  const instrument = (how) => (name, options) => ({
    record: (...args) => void calls.push({ kind: 'metric', how, name, options, key: 'record', args }),
    add: (...args) => void calls.push({ kind: 'metric', how, name, options, key: 'add', args }),
  })
  const meter = { createHistogram: instrument('createHistogram'), createCounter: instrument('createCounter') }
  return { calls, tracerProvider: { getTracer: () => tracer }, meterProvider: { getMeter: () => meter } }
}

/** The same calls without the listener. */
function playedOn({ tracerProvider, meterProvider }, calls) {
  const [tracer, meter] = [tracerProvider.getTracer('halting'), meterProvider.getMeter('halting')]
  const instruments = new Map()
  for (const { kind, how, name, options } of calls) if (kind === 'metric' && !instruments.has(name)) instruments.set(name, meter[how](name, options))
  return () => {
    const open = []
    for (const call of calls) {
      if (call.kind === 'start') {
        const context = call.parent < 0 ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, open[call.parent])
        open[call.index] = tracer.startSpan(call.name, call.options, context)
      } else if (call.kind === 'span') open[call.index][call.key](...call.args)
      else instruments.get(call.name)[call.key](...call.args)
    }
  }
}

async function service() {
  const child = fork(fileURLToPath(new URL('./lib/service.mjs', import.meta.url)))
  const nextMessage = () => new Promise((resolve) => void child.once('message', resolve))
  const { port } = await nextMessage()
  return {
    url: `http://127.0.0.1:${port}`,
    async plan(turns) {
      child.send({ begin: { files: Array.from({ length: turns }, (_, turn) => `src/file-${turn}.ts`) } })
      await nextMessage()
    },
    end: () => void child.kill(),
  }
}

heading('Telemetry')
const rounds = numberOf('rounds', 31)
const http = await service()
const overHttp = anthropic({ model: 'm', apiKey: 'k', baseUrl: http.url, contextWindow: 1_000_000, maxOutputTokens: 1_000 })
const workloads = [
  { what: 'model and tools answer at once', turns: 200, rounds, once: (onEvent) => run(quickModel(200), toolTaking(0), 200, onEvent) },
  { what: 'each tool takes a millisecond', turns: 100, rounds: Math.ceil(rounds / 3), once: (onEvent) => run(quickModel(100), toolTaking(1), 100, onEvent) },
  {
    what: 'a model over HTTP on this machine',
    turns: 50,
    rounds: Math.ceil(rounds / 3),
    async once(onEvent) {
      await http.plan(50)
      return run(overHttp, toolTaking(0), 50, onEvent)
    },
  },
]
const listeners = {
  without: await telemetry(),
  noop: await telemetry(noop),
  sdk: await telemetry(sdk),
}
/** Microseconds by the clock, and of CPU. */
async function measured(work) {
  const [began, before] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(before)
  return { wall: (performance.now() - began) * 1_000, cpu: user + system }
}

const names = ['without', 'noop', 'sdk', 'alone']
const tables = { wall: [], cpu: [] }
for (const { what, turns, rounds: count, once } of workloads) {
  const recorded = recordedCalls()
  await once((await telemetry(recorded)).onEvent)
  const alone = playedOn(sdk, recorded.calls)
  const taken = names.map(() => [])
  for (let round = 0; round < count + 5; round++) {
    // In another order each round: each leaves garbage behind, and it should not always be the same one that clears it up.
    for (const index of [0, 1, 2, 3].toSorted(() => Math.random() - 0.5)) {
      const took = await measured(() => (names[index] === 'alone' ? alone() : once(listeners[names[index]].onEvent)))
      if (round >= 5) taken[index].push(took)
    }
  }
  for (const [kind, rows] of Object.entries(tables)) {
    const [without, nothing, withSdk, sdkAlone] = taken.map((all) => median(all.map((took) => took[kind])) / turns)
    const us = (value) => value.toFixed(value < 100 ? 1 : 0)
    const ratios = [nothing, withSdk, without + sdkAlone].map((value) => (value / without).toFixed(2))
    rows.push([what, us(without), us(nothing), us(withSdk), us(sdkAlone), ...ratios])
  }
}
const head = ['µs a turn', 'without', 'no-op providers', 'SDK', 'the same calls on the SDK alone', 'ratio, no-op', 'ratio, SDK', 'ratio, without and the SDK alone']
console.log('Time.\n')
console.log(table(head, tables.wall))
console.log('\nTime of the processor, of all threads of the process.\n')
console.log(table(head, tables.cpu))
http.end()
process.exit(0)
