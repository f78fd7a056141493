// What telemetry costs the loop: the same scripted runs without a listener's work and with it, in turn, and the ratio of the medians.
// Spans go through the SDK to an exporter that drops them. Needs a build. node bench/telemetry.mjs
import { performance } from 'node:perf_hooks'
import { loadavg } from 'node:os'
import { loop, startRun } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { telemetry } from '@halting/agent/telemetry'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { MeterProvider } from '@opentelemetry/sdk-metrics'

const turns = 200
const rounds = 41
const drop = { export: (_spans, done) => done({ code: 0 }), shutdown: async () => {}, forceFlush: async () => {} }
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(drop)] })
const traced = await telemetry({ tracerProvider, meterProvider: new MeterProvider() })
const off = await telemetry()

const look = {
  name: 'Look',
  description: 'looks',
  inputSchema: { type: 'object' },
  readOnly: true,
  execute: () => waits ? new Promise((done) => void setTimeout(done, 1, 'seen')) : 'seen',
}
let waits = false

async function once({ onEvent }) {
  const script = (_request, index) => (index < turns ? { toolCalls: [{ name: 'Look' }, { name: 'Look' }] } : 'done')
  const running = loop(startRun({ prompt: 'go' }), { model: scriptedModel(script), tools: [look], maxTurns: turns + 1 })
  const began = performance.now()
  for await (const event of running) onEvent(event)
  return performance.now() - began
}

const median = (times) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]
const fixed = (value) => value.toFixed(3)
for (const [what, isWaiting, count] of [['tools that answer at once', false, rounds], ['tools that take a millisecond', true, 9]]) {
  waits = isWaiting
  const times = { off: [], on: [] }
  for (let round = 0; round < count + 5; round++) {
    const order = round % 2 === 0 ? ['off', 'on'] : ['on', 'off']
    for (const which of order) {
      const took = await once(which === 'on' ? traced : off)
      if (round >= 5) times[which].push(took)
    }
  }
  const [without, withIt] = [median(times.off), median(times.on)]
  console.log(`${what}: ${fixed(without / turns)} ms a turn without, ${fixed(withIt / turns)} with; ratio ${fixed(withIt / without)}`)
}
console.log(`load of the machine: ${loadavg().map((load) => load.toFixed(1)).join(' ')}`)
process.exit(0)
