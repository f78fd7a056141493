// Checks docs/guide/limits.md: its calibrated limits are the output for 120 recorded sessions. `HALTING_WRITE=1` writes them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startRun, streamRun, tool, type RunOptions } from '@halting/core'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { noteGrade, openJournal } from '@halting/journal'
import { expect, test } from 'vitest'
import { sessionPath } from './support/store-session.ts'
import { here, installProgram, run } from './support/program.ts'

installProgram()

const page = new URL('../../../docs/guide/limits.md', import.meta.url)
const [begin, end] = ['<!-- begin calibrated -->', '<!-- end calibrated -->']

/** $3 and $15 per million tokens. */
const prices: NonNullable<RunOptions['prices']> = {
  cost: (_model, { input_tokens, output_tokens }) => (3 * input_tokens + 15 * output_tokens) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (3 * inputTokens + 15 * outputTokens) / 1e6,
}

/** The same numbers in each run. */
function draws(): () => number {
  let state = 36
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 4_294_967_296
  }
}

/** A run that solves its task takes about ten turns; one that goes astray uses all of its turns. */
async function keepRun(sessionId: string, cwd: string, turns: number, maxTurns: number): Promise<void> {
  const journal = await openJournal({ path: sessionPath(sessionId, cwd), sessionId, cwd, version: '0.1.0' })
  const start = startRun({ prompt: 'go', sessionId, transcript: journal.transcript })
  const clock = createFakeClock({ autoAdvance: true })
  const reply = (index: number): ScriptedReply => ({
    ...(index < turns - 1 ? { toolCalls: [{ name: 'Edit', input: { step: index } }] } : { text: 'Done.' }),
    usage: { input_tokens: 8_000 + 900 * index, output_tokens: 400 },
    before: () => new Promise<void>((resolve) => void clock.after(6_000 + 50 * index, resolve)),
  })
  const model = scriptedModel((_, index) => reply(index), { maxOutputTokens: 8_000 })
  const tools = [tool({ name: 'Edit', description: '', execute: () => 'done' })]
  const running = streamRun(start, { tools, prices, model, clock, maxTurns, steps: journal.steps({ clock }) })
  await running.ended
  await journal.close()
}

test('docs/guide/limits.md shows what is printed', async () => {
  const project = join(here(), 'app')
  mkdirSync(project)
  const draw = draws()
  for (let number = 0; number < 120; number++) {
    const id = `aaaaaaaa-0000-4000-8000-${String(number).padStart(12, '0')}`
    const isLost = number % 8 === 7
    const turns = Math.round(4 + 5 * Math.exp(1.1 * (draw() + draw() + draw() - 1.5)))
    await keepRun(id, project, isLost ? 200 : turns, isLost ? 30 + Math.round(draw() * 50) : 100)
    // A user graded some runs; some that completed were wrong.
    const isWrong = number % 17 === 5
    if (number % 3 === 0 || isWrong)
      await noteGrade(
        { home: here(), cwd: here(), env: {} },
        { sessionId: id, runId: 'run1', grade: isLost || isWrong ? 'bad' : 'good' },
      )
  }
  const args = ['what-if', '--suggest', '--may-lose', '2%']
  const { stdout, stderr, status } = await run(args, { cwd: project, env: { COLUMNS: '110' } })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const shown = `$ halting ${args.join(' ')}\n${stdout.replaceAll(project, '/home/you/app').replaceAll('scripted in', 'claude-opus-4-8 in')}`
  const before = readFileSync(page, 'utf8')
  const [head = ''] = before.split(begin)
  const [, tail = ''] = before.split(end)
  const made = `${head}${begin}\n\n\`\`\`text\n${shown}\`\`\`\n\n${end}${tail}`
  if (process.env['HALTING_WRITE'] === '1') writeFileSync(page, made)
  expect(readFileSync(page, 'utf8')).toBe(made)
}, 120_000)
