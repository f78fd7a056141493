// examples/guards.mjs
import { all, any, streamRun, noProgress, startRun, stepLimit, StopSignal, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

/** A custom guard: a condition over the figures of the run. */
const expensive = {
  name: 'expensive',
  evaluate: ({ totalTokens }) =>
    totalTokens >= 60
      ? new StopSignal({ reason: 'token_limit', message: `${totalTokens} tokens`, source: 'expensive' })
      : undefined,
}
const model = scriptedModel(() => ({ toolCalls: [{ name: 'Look' }] }))
const look = tool({
  name: 'Look',
  description: 'Looks',
  readOnly: true,
  execute: () => 'the same',
})

const stopWhen = any(noProgress(), all(stepLimit(3), expensive))
const { reason, signal } = await streamRun(startRun({ prompt: 'Look.' }), { model, tools: [look], stopWhen }).result
console.log(`${reason}: ${signal.message}`)
