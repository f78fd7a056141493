// examples/override.mjs
import { CallableHook, streamRun, startRun, stepLimit, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel(() => ({ toolCalls: [{ name: 'Look' }] }))
const look = tool({
  name: 'Look',
  description: 'Looks',
  readOnly: true,
  execute: () => 'the same',
})
/** Requests to continue each time that the run is about to end. The request is granted once for each guard. */
const insist = new CallableHook((context) => context.withState(context.state().withExecutionContinued()), {
  id: 'insist',
  triggers: ['onStop'],
})

const running = streamRun(startRun({ prompt: 'Look.' }), {
  model,
  tools: [look],
  hooks: [insist],
  stopWhen: stepLimit(2),
  maxTurns: 9,
})
for await (const event of running) {
  if (event.type === 'signals_overridden') console.log(`${event.by} overrode ${event.signals.join(' | ')}`)
  if (event.type === 'run_end') console.log(`${event.terminal.reason}: ${event.terminal.signal.message}`)
}
