// Spec R-GOAL-64: a goal whose first check shows that it is invalid, before any cost.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createReport } from '../../src/headless/report.ts'
import { runOnce } from '../../src/headless/run.ts'
import { watchInterruption } from '../../src/headless/interruption.ts'
import { styleFor } from '../../src/io/style.ts'
import { type EndingRun, openEndingRun } from '../support/ending-runs.ts'
import { programInMemory } from '../support/program-in-memory.ts'

const unusable = 'The goal nmp test is not a command: nmp was not found.'

test('ends as a usage error, with exit code 2 and only that text', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'halting-unusable-'))
  const run: EndingRun = {
    replies: ['never said'],
    options: { until: [{ name: 'nmp test', check: () => ({ met: false, exitCode: 127, unusable }) }] },
  }
  const program = programInMemory({ cwd, env: {} })
  const { output } = program
  const session = openEndingRun(run, cwd, { cancel: () => undefined, leave: program.readerGoes })
  const interruption = watchInterruption(output)
  const lines: string[] = []
  const watcher = createReport({
    flags: {},
    output: { ...output, err: (text) => void lines.push(text) },
    style: styleFor(false, {}),
    remedies: () => undefined,
    sessionId: session.id,
    isStored: true,
    invocation: { argv: [], argument: 'go', prompt: 'go' },
  })
  try {
    expect(await runOnce({ session, ask: () => void session.prompt('go'), interruption, watcher })).toBe(2)
    expect(lines.at(-1)).toBe(`halting: ${unusable}\n`)
    expect(lines.join('')).not.toContain('Go on')
    expect(program.written()).toBe('')
  } finally {
    interruption.release()
    await session.close()
  }
})
