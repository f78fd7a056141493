// examples/stop-tool.mjs
import { AgentStopException, streamRun, startRun, StopSignal, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const submit = tool({
  name: 'Submit',
  description: 'Hands in the answer and ends the run',
  inputSchema: { type: 'object', properties: { answer: { type: 'number' } }, required: ['answer'] },
  execute({ answer }) {
    throw new AgentStopException({
      signal: new StopSignal({
        reason: 'completed',
        message: `Answer: ${answer}`,
        context: { answer },
        source: 'Submit',
      }),
    })
  },
})
const model = scriptedModel([
  { toolCalls: [{ name: 'Submit', input: {} }] },
  { toolCalls: [{ name: 'Submit', input: { answer: 42 } }] },
])
const { terminal, state } = await streamRun(startRun({ prompt: 'Six times seven?' }), { model, tools: [submit] }).ended
console.log(terminal.reason, terminal.signal.context)
for (const { content } of state.transcript.messages()) {
  const [block] = content
  if (block.type === 'tool_result') console.log(block.content)
}
