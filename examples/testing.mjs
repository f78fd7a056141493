// examples/testing.mjs
import { run, tool } from '@halting/core'
import { createFakeClock, expectRun, scriptedModel, transcriptProblems } from '@halting/core/testing'

const weather = tool({
  name: 'Weather',
  description: 'Returns the weather of a city',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  readOnly: true,
  execute: ({ city }) => `Rain in ${city}`,
})

const model = scriptedModel([
  { error: { kind: 'overloaded', message: 'Try again later', status: 529 } },
  { toolCalls: [{ name: 'Weather', input: { city: 'Bonn' } }] },
  'Take an umbrella.',
])
const clock = createFakeClock({ autoAdvance: true })
const outcome = await run({ model, clock, tools: [weather], prompt: 'What do I need in Bonn?', maxTurns: 5 })

expectRun(outcome).toEndAs('completed')
expectRun(outcome).toHaveCalled('Weather', { city: /bonn/i })
expectRun(outcome).toTakeAtMost({ turns: 2, requests: 3 })
expectRun(outcome).toHaveAnswered(/umbrella/)
console.log(`${model.requests.length} requests, problems: ${transcriptProblems(outcome.messages).length}`)

try {
  expectRun(outcome).toHaveCalled('Weather', { city: 'Rome' })
} catch (error) {
  console.log(error.message)
}
