// examples/engine.mjs
import { QueryEngine } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const model = scriptedModel(['Paris.', 'About two million.', 'In the north.'])
const engine = new QueryEngine({ model, maxTurns: 10 })

async function ask(prompt) {
  for await (const message of engine.submit(prompt)) {
    if (message.type === 'result')
      console.log(`${message.result} (turns: ${message.num_turns}, ${message.terminal_reason})`)
  }
}

await ask('What is the capital of France?')
// A follow-up is taken when the run would end: one run, two answers.
engine.followUp('And where does it lie?')
await ask('How many people live there?')
console.log(`${engine.transcript.length} entries, last ending: ${engine.lastTerminal.reason}`)
