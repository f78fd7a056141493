// examples/context.mjs
import { CallableHook, QueryEngine, tool } from '@halting/core'
import { contextLayers, contextUsage } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'

const look = tool({ name: 'Look', description: 'Looks', readOnly: true, execute: () => 'a long text. '.repeat(500) })
const model = scriptedModel(({ messages }, index) => ({
  ...(index < 8
    ? { toolCalls: [{ name: 'Look' }] }
    : { text: index === 8 ? 'I have looked.' : 'It says: a long text.' }),
  usage: { input_tokens: Math.ceil(JSON.stringify(messages).length / 4) },
}))

/** Instructs the model what the summary must contain. */
const instruct = new CallableHook(
  (context) => context.withState(context.state().withUserMessage('Name the ticket: K-12.')),
  { id: 'instruct', triggers: ['beforeCompact'] },
)

const engine = new QueryEngine({
  model,
  tools: [look],
  hooks: [instruct],
  contextWindow: 40_000,
  context: contextLayers({
    compactAt: '80%',
    carryOver: () => [{ title: 'The list of things to do', text: '[ ] look once more' }],
  }),
  onEvent: (event) => {
    if (event.type === 'compact_start') console.log(`compacting (${event.trigger})`)
    if (event.type === 'message' && event.entry.kind === 'compact_boundary') console.log('it was made shorter')
  },
})

/** Consumes a run until its end. */
async function finish(messages) {
  for await (const message of messages) if (message.type === 'result') console.log(message.terminal_reason)
}

await finish(engine.submit('Look eight times, for ticket K-12.'))
const before = contextUsage({ model, tools: [look], context: contextLayers() }, { transcript: engine.transcript })
await finish(engine.compact('Keep the names of files.'))

console.log(before.parts.map(({ kind }) => kind).join(' '))
const [first] = engine.transcript.messages()
for (const { text } of first.content) console.log(text.split('\n')[0])
