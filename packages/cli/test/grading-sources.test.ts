// Holds R-GRADE-8 of docs/spec for a program that reads many sessions, such as the inspector.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noteGrade } from '@halting/journal'
import { expect, onTestFinished, test } from 'vitest'
import { watchedGradingSources } from '../src/grade/grading-sources.ts'
import { programInMemory } from './support/program-in-memory.ts'

function watched() {
  const home = mkdtempSync(join(tmpdir(), 'halting-grades-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const memory = programInMemory({ cwd: home, env: { HOME: home, HALTING_CONFIG_DIR: home } })
  const errors: string[] = []
  const program = { ...memory, output: { ...memory.output, err: (text: string) => void errors.push(text) } }
  const note = (grade: 'good' | 'bad'): Promise<void> =>
    noteGrade({ home, cwd: home, env: program.env }, { sessionId: 's', runId: 'run1', grade })
  return { sources: watchedGradingSources(program), errors, note, file: join(home, 'grades.jsonl') }
}

test('reads grades once, and again after they changed', async () => {
  const { sources, note, errors } = watched()
  expect(sources().grades.of('s', 'run1')).toBeUndefined()
  await note('good')
  const before = sources()
  expect(before.grades.of('s', 'run1')).toMatchObject({ grade: 'good' })
  expect(sources()).toBe(before)
  await note('bad')
  expect(sources().grades.of('s', 'run1')).toMatchObject({ grade: 'bad' })
  expect(errors).toEqual([])
})

test('reports unreadable grades once, not for each session', async () => {
  const { sources, note, errors, file } = watched()
  writeFileSync(file, 'hello\n', { mode: 0o600 })
  for (let session = 0; session < 5; session++) expect(sources().grades.of('s', 'run1')).toBeUndefined()
  expect(errors).toHaveLength(1)
  expect(errors[0]).toContain('line 1: not a grade of a run')
  rmSync(file)
  await note('good')
  expect(sources().grades.of('s', 'run1')).toMatchObject({ grade: 'good' })
  expect(errors).toHaveLength(1)
})
