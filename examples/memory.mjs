// examples/memory.mjs
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { codingAgent, memoryPlace } from '@halting/agent'
import { memoryStages, placedNotes, readMemory } from '@halting/agent/memory'
import { afterRun } from '@halting/core/after'
import { noPrices } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'

const [cwd, home] = [await mkdtemp(join(tmpdir(), 'project-')), await mkdtemp(join(tmpdir(), 'home-'))]
const env = { PATH: process.env.PATH, HOME: home } // where this example stores the notes
const owner = { cwd, home, env }
const settings = { autoMemoryEnabled: true }

async function session(prompt, model) {
  const builder = await codingAgent({ cwd, model, settings, env })
  const engine = await builder.engine()
  for await (const message of engine.submit(prompt)) {
    if (message.type === 'system' && message.subtype === 'init')
      console.log('is shown:', (message.instructions ?? []).map((path) => basename(path)).join())
  }
  // The result is available. The stages that follow have their own bounds.
  for await (const message of afterRun(engine, memoryStages({ owner, settings, model, prices: noPrices })))
    console.log(message.stage, message.reason)
  await builder.dispose()
}

// After the run, the model is asked which sentences to remember for later sessions. It answers with their numbers.
const chooses = '{"notes":[{"topic":"preferences","sentences":["1.2"]}]}'
await session('Fix the login. I always want the tests run with pnpm.', scriptedModel(['It is fixed.', chooses]))
await session('Now fix the logout, too.', scriptedModel(['It is fixed, too.', '{"notes":[]}']))

const memory = await readMemory(memoryPlace(owner, settings))
for (const { topic, note } of placedNotes(memory))
  console.log(`${topic.name}: ${note.text} (${note.sources.length} source)`)
