// examples/goals.mjs
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commandGoal } from '@halting/agent'
import { startRun, streamRun, tool } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'

const cwd = await mkdtemp(join(tmpdir(), 'goals-'))
const save = tool({
  name: 'Save',
  description: 'Saves the answer',
  execute: async () => {
    await writeFile(join(cwd, 'answer.txt'), '42\n')
    return 'saved'
  },
})
/** A model that claims to be done before it has done anything. */
const model = scriptedModel(['Done.', { toolCalls: [{ name: 'Save' }] }, 'Now it is saved.'])

const until = [commandGoal('grep -q 42 answer.txt', { cwd, timeoutMs: 60_000 })]
const { reason, goal } = await streamRun(startRun({ prompt: 'Save it.' }), { model, tools: [save], until }).result
console.log(`${reason}: met ${goal.met}, sent back ${goal.tries} time`)
await rm(cwd, { recursive: true })
