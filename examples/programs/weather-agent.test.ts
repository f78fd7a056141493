// examples/programs/weather-agent.test.ts
import { expectRun, scriptedModel } from '@halting/core/testing'
import { test } from 'node:test'
import { packingAdvice } from './weather-agent.ts'

test('looks up the weather before it answers', async () => {
  const model = scriptedModel([{ toolCalls: [{ name: 'Weather', input: { city: 'Bonn' } }] }, 'Take an umbrella.'])
  const advice = await packingAdvice('Bonn', model)
  expectRun(advice).toEndAs('completed')
  expectRun(advice).toHaveCalled('Weather', { city: 'Bonn' })
  expectRun(advice).toHaveAnswered('Take an umbrella.')
})

test('gives up when the model keeps asking for the weather', async () => {
  const again = scriptedModel(() => ({ toolCalls: [{ name: 'Weather', input: { city: 'Bonn' } }] }))
  await expectRun(packingAdvice('Bonn', again)).toEndAs('max_turns')
})
