// examples/while-it-runs.mjs
import { streamRun, startRun, stepLimit, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

// Each reply takes a moment, so that a person has time to act.
const before = () => new Promise((resolve) => setTimeout(resolve, 20))
const quick = scriptedModel([{ toolCalls: [{ name: 'Look' }], before }], { id: 'quick' })
const careful = scriptedModel([{ text: 'Nothing to see.', before }], { id: 'careful' })
const look = tool({ name: 'Look', description: 'Looks', readOnly: true, execute: () => 'an empty room' })

const options = { model: quick, models: [careful], tools: [look], maxTurns: 2, stopWhen: stepLimit(8) }
const running = streamRun(startRun({ prompt: 'What is in the house?' }), options)

function act() {
  running.set({ model: 'careful', limits: { maxTurns: 5, maxTotalTokens: 500_000 } })
  running.steer('Look in the cellar too.', 'cellar')
  const id = running.followUp('And the attic?')
  console.log(`${running.waiting.length} messages wait, ${running.retract(id) ? 'one is taken back' : 'too late'}`)
}

for await (const event of running) {
  if (event.type === 'model_start') console.log(`asking ${event.model}`)
  if (event.type === 'model_start' && event.request === 1) act()
  if (event.type === 'settings') console.log('set:', JSON.stringify(event.change))
  if (event.type === 'message' && event.entry.inboxId) console.log(`taken: ${event.entry.inboxId}`)
  if (event.type === 'lap') console.log(`turns left: ${event.left.next_turn}`)
  if (event.type === 'guards')
    for (const { guard, used, limit, unit } of event.remaining) console.log(`${guard}: ${used} of ${limit} ${unit}`)
  if (event.type === 'figures')
    console.log(`${event.settledTokens} tokens; ${event.contextTokens} of ${event.contextWindow} in the window`)
}
console.log((await running.result).reason)
