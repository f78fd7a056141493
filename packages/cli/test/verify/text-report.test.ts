// Holds R-VERI-22 and R-VERI-23: what `halting -p` prints of a run whose last change was checked or not, and of a stored answer.
import type { FileWork, RunOptions } from '@halting/core'
import { tool } from '@halting/core'
import { createSession } from '@halting/core/session'
import { createFakeClock, scriptedModel } from '@halting/core/testing'
import { describe, expect, test } from 'vitest'
import type { Flags } from '../../src/flags/flags.ts'
import { createReport } from '../../src/headless/report.ts'
import { runOnce } from '../../src/headless/run.ts'
import { styleFor } from '../../src/io/style.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const change: FileWork = { changedLines: 4 }
const passing: FileWork = { check: { command: 'npm test', passed: true } }
const asking: RunOptions['verification'] = { mode: 'ask', checks: () => ['npm test'] }

type ModelAction = FileWork | string | { readonly text: string; readonly work: FileWork }

interface ReportOptions {
  readonly verification?: RunOptions['verification']
  readonly isTerminal?: boolean
  readonly flags?: Flags
  readonly saysUnchecked?: boolean
}

/** The output for a run whose model does these. */
async function printed(said: readonly ModelAction[], given: ReportOptions = {}) {
  const { verification = { mode: 'tell' }, isTerminal = false, flags = {}, saysUnchecked = false } = given
  const works = said.flatMap((each) => (typeof each === 'string' ? [] : 'work' in each ? [each.work] : [each]))
  const program = programInMemory({ cwd: '/work', env: {}, isTerminal })
  const err: string[] = []
  const session = createSession({
    options: {
      model: scriptedModel(
        said.map((each) => {
          if (typeof each === 'string') return { text: each }
          return { toolCalls: [{ name: 'Work' }], ...('work' in each && { text: each.text }) }
        }),
      ),
      tools: [
        tool({ name: 'Work', description: 'works', execute: () => ({ content: 'ok', fileWork: works.shift() ?? {} }) }),
      ],
      clock: createFakeClock({ autoAdvance: true }),
      verification,
      canUseTool: () => ({ behavior: 'allow' }),
    },
    journal: undefined,
    answersQuestions: false,
    permissions: { mode: 'default' },
    cwd: '/work',
    end: async () => undefined,
  })
  const watcher = createReport({
    flags,
    output: {
      ...program.output,
      err: (text) => void err.push(text),
      endLine: () => (/[^\n]$/.test(program.written()) ? program.output.out('\n') : undefined),
    },
    style: styleFor(false, {}),
    remedies: () => undefined,
    sessionId: session.id,
    isStored: false,
    invocation: { argv: [], argument: 'go', prompt: 'go' },
    reportsUnchecked: saysUnchecked,
  })
  const interruption = { signal: new AbortController().signal, exitCode: undefined, release: () => undefined }
  const exitCode = await runOnce({ session, ask: () => void session.prompt('go'), interruption, watcher })
  await session.close()
  return { exitCode, out: program.written(), err: err.join('') }
}

const unchecked = '! Not checked: files changed, and no check has passed since.'
const asked = '↻ asked the model to verify its last change'

describe('the end', () => {
  test('says in one line that the last change is not checked, and exits with 0', async () => {
    expect(await printed([change, 'Done.'])).toEqual({ exitCode: 0, out: 'Done.\n', err: `${unchecked}\n` })
  })

  test.each<[string, readonly ModelAction[], ReportOptions]>([
    ['a check passed', [change, passing, 'Done.'], {}],
    ['nothing changed', ['Hello.'], {}],
    ['--quiet', [change, 'Done.'], { flags: { quiet: true } }],
    ['the caller says it', [change, 'Done.'], { saysUnchecked: true }],
  ])('prints no report: %s', async (_why, said, given) => {
    expect((await printed(said, given)).err).not.toContain('Not checked')
  })
})

describe.each([true, false])('a stored answer (terminal: %s)', (isTerminal) => {
  const given = { verification: asking, isTerminal }

  test('is printed once, without what came after it', async () => {
    const { out, err, exitCode } = await printed([change, 'Done.', 'There is no need.'], given)
    expect(out.trim()).toBe('Done.')
    expect(exitCode).toBe(0)
    expect(err.split('\n').filter((line) => line.startsWith('↻'))).toEqual([asked])
    expect(err).toContain('! Not checked:')
  })

  test('becomes a step if the model calls a tool after it', async () => {
    const verified = [change, 'Done.', { text: 'Let me check.', work: passing }, 'All tests pass.'] as const
    const { out, err } = await printed(verified, given)
    const lines = out.split('\n').filter((line) => line !== '')
    expect(lines).toEqual(isTerminal ? ['Done.', 'Let me check.', 'All tests pass.'] : ['All tests pass.'])
    expect(err).toContain(asked)
    expect(err).not.toContain('Not checked')
  })

  test("is printed among all steps with the model's comment on it", async () => {
    const { out, err } = await printed([change, 'Done.', 'There is no need.'], { ...given, flags: { verbose: true } })
    expect(out.trim()).toBe('Done.')
    expect(err.match(/There is no need\./g)).toHaveLength(1)
    expect(err).not.toContain('Done.')
    expect(err).toContain('You changed 4 lines')
  })

  test('is neither lost nor repeated among all steps if the model continues', async () => {
    const verified = [change, 'Done.', { text: 'Let me check.', work: passing }, 'All tests pass.'] as const
    const { out, err } = await printed(verified, { ...given, flags: { verbose: true } })
    const all = `${out}${err}`
    for (const text of ['Done.', 'Let me check.', 'All tests pass.']) expect(all.split(text)).toHaveLength(2)
  })
})
