import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject, PermissionDecision } from '@halting/core'
import { isJsonObject, answerProblem } from '@halting/core/adapters'
import { codeOf } from '@halting/core/adapters'
import { sessionFolder, type SessionPlace } from './session-folder.ts'

/** Answers of a person to pending calls of a run, by call id. */
export type Answers = { readonly [callId: string]: PermissionDecision }

/** Call ids may repeat in later runs, so answers belong to one run. */
interface StoredAnswers {
  readonly run: string
  readonly answers: Answers
}

/** Whether the session has answers to pending calls. */
export function hasAnswers(place: SessionPlace): boolean {
  return existsSync(fileOf(place))
}

/** Returns the answers so far to the calls of this run. A damaged file counts as empty. */
export async function readAnswers(place: SessionPlace, run: string): Promise<Answers> {
  try {
    const stored: unknown = JSON.parse(await readFile(fileOf(place), 'utf8'))
    return isStored(stored) && stored.run === run ? answersOf(stored.answers) : none
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return none
    throw error
  }
}

/** Stores an answer, which the next resume applies. The last answer to a call counts. */
export async function noteAnswer(
  place: SessionPlace,
  run: string,
  callId: string,
  decision: PermissionDecision,
): Promise<Answers> {
  const answers = answersOf({ ...(await readAnswers(place, run)), [callId]: decision })
  const { base, parts } = sessionFolder(place)
  await mkdir(join(base, ...parts), { recursive: true, mode: 0o700 })
  const draft = `${fileOf(place)}.${randomUUID()}.part`
  await writeFile(draft, JSON.stringify({ run, answers } satisfies StoredAnswers), { mode: 0o600, flag: 'wx' })
  await rename(draft, fileOf(place))
  return answers
}

/** Removes the answers: the run that applied them recorded them. */
export async function forgetAnswers(place: SessionPlace): Promise<void> {
  await rm(fileOf(place), { force: true })
}

function fileOf(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return join(base, ...parts, 'answers.json')
}

function isStored(stored: unknown): stored is { readonly run: unknown; readonly answers: JsonObject } {
  return isJsonObject(stored) && isJsonObject(stored['answers'])
}

const none: Answers = answersOf({})

/** Copies valid answers to an object without a prototype, because a call may have the id `constructor`. */
function answersOf(stored: object): Answers {
  const answers = Object.entries<unknown>({ ...stored }).filter(([, answer]) => answerProblem(answer) === undefined)
  // `answerProblem` found no problem with these.
  return Object.freeze(Object.setPrototypeOf(Object.fromEntries(answers), null) as Answers)
}
