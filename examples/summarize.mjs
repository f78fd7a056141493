// examples/summarize.mjs
import { CallableHook, streamRun, startRun, stepLimit, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const look = tool({ name: 'Look', description: 'Looks', readOnly: true, execute: () => 'a long text' })
const model = scriptedModel((_request, index) => (index < 3 ? { toolCalls: [{ name: 'Look' }] } : 'It is a long text.'))

/** At the step limit, summarizes the conversation and continues with the summary. */
const summarize = new CallableHook(
  (context) => {
    const state = context.state()
    if (state.stopReason() !== 'steps_limit') return context
    const summary = `You were asked to look, and did so ${state.execution().figures.steps} times. Answer now.`
    return context.withState(state.withMessages([{ role: 'user', content: summary }]).withExecutionContinued())
  },
  { id: 'summarize', triggers: ['onStop'] },
)

const options = { model, tools: [look], hooks: [summarize], stopWhen: stepLimit(3) }
const { terminal, state } = await streamRun(startRun({ prompt: 'Look.' }), options).ended
console.log(terminal.reason, model.requests.map(({ messages }) => messages.length).join(' '))
console.log(state.transcript.messages()[0].content)
