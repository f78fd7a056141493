// examples/builder.mjs
import { AgentState, tool } from '@halting/core'
import { AgentBuilder, UseGuards, UseModel, UseTools } from '@halting/core/compat'
import { scriptedModel } from '@halting/core/testing'

const roll = tool({
  name: 'Roll',
  description: 'Rolls a die',
  readOnly: true,
  execute: () => '4',
})
const agent = AgentBuilder.base({ system: 'You play dice.' })
  .withCapability(new UseModel(scriptedModel(() => ({ toolCalls: [{ name: 'Roll' }] }), { maxOutputTokens: 4_000 })))
  .withCapability(new UseTools(roll))
  .withCapability(new UseGuards({ maxSteps: 3 }))
  .build()

const state = await agent.execute(AgentState.empty().withUserMessage('Roll until you get a six.'))
console.log(state.stopReason())
console.log(state.executionContinuation().explain())
