import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PermissionDecision } from '@halting/core'
import { codeOf } from '../tools/result.ts'
import { sessionFolder, type SessionPlace } from './session-folder.ts'

/** What a person said to calls that a run left waiting, by their ids. */
export type Answers = { readonly [callId: string]: PermissionDecision }

/** Ids of calls come again in later runs: answers are to those of one run. */
interface StoredAnswers {
  readonly run: string
  readonly answers: Answers
}

/** Whether something was said to calls that this session waits with. */
export function hasAnswers(place: SessionPlace): boolean {
  return existsSync(fileOf(place))
}

/** What was said so far to the calls of this run. A damaged file holds no answers. */
export async function readAnswers(place: SessionPlace, run: string): Promise<Answers> {
  try {
    const stored: unknown = JSON.parse(await readFile(fileOf(place), 'utf8'))
    return isStored(stored) && stored.run === run ? stored.answers : {}
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return {}
    throw error
  }
}

/** Notes an answer, which the next resume acts on. The last one to a call counts. */
export async function noteAnswer(
  place: SessionPlace,
  run: string,
  callId: string,
  decision: PermissionDecision,
): Promise<Answers> {
  const answers = { ...(await readAnswers(place, run)), [callId]: decision }
  const { base, parts } = sessionFolder(place)
  await mkdir(join(base, ...parts), { recursive: true, mode: 0o700 })
  const draft = `${fileOf(place)}.${randomUUID()}.part`
  await writeFile(draft, JSON.stringify({ run, answers } satisfies StoredAnswers), { mode: 0o600, flag: 'wx' })
  await rename(draft, fileOf(place))
  return answers
}

/** They are on record in the run that acts on them. */
export async function forgetAnswers(place: SessionPlace): Promise<void> {
  await rm(fileOf(place), { force: true })
}

function fileOf(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'answers.json')
}

function isStored(stored: unknown): stored is StoredAnswers {
  return (
    typeof stored === 'object' &&
    stored !== null &&
    'run' in stored &&
    'answers' in stored &&
    typeof stored.answers === 'object'
  )
}
