import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryPlace, type MemoryPlace } from '@halting/agent'
import { type Ask, extract, type ExtractionResult, type UserStatements, userStatementsIn } from '@halting/agent/memory'
import type { TranscriptEntry } from '@halting/core'
import { temporaryFolder } from '../support/harness.ts'

export const sessionId = '11111111-2222-4333-8444-555555555555'
export const now = new Date('2026-11-23T10:00:00Z')

export interface World {
  readonly owner: { readonly cwd: string; readonly home: string; readonly env: Readonly<Record<string, string>> }
  readonly place: MemoryPlace
  /** Writes a file of the memory, like a user. */
  readonly write: (name: string, text: string | Uint8Array) => void
  readonly read: (name: string) => string
  /** Names in the folder, without those that begin with a dot. */
  readonly names: () => readonly string[]
}

export function world(): World {
  const home = temporaryFolder()
  const owner = { cwd: '/work/project', home, env: {} }
  const place = memoryPlace(owner)
  return {
    owner,
    place,
    write(name, text) {
      mkdirSync(place.path, { recursive: true, mode: 0o700 })
      writeFileSync(join(place.path, name), text)
    },
    read: (name) => readFileSync(join(place.path, name), 'utf8'),
    names: () =>
      readdirSync(place.path)
        .filter((name) => !name.startsWith('.'))
        .toSorted(),
  }
}

let entries = 0

export const prompt = (content: string, origin: 'prompt' | 'steer' | 'hook' | 'loop' = 'prompt'): TranscriptEntry => ({
  kind: 'user',
  id: `entry-${++entries}`,
  message: { role: 'user', content },
  origin,
})

export function reply(text: string): TranscriptEntry {
  const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  const content = [{ type: 'text', text }] as const
  const message = { role: 'assistant', id: 'm', model: 'm', content, stop_reason: 'end_turn', usage } as const
  return { kind: 'assistant', id: `entry-${++entries}`, message } as unknown as TranscriptEntry
}

export function toolResult(content: string): TranscriptEntry {
  const block = { type: 'tool_result', tool_use_id: 'call_1', content } as const
  return { kind: 'user', id: `entry-${++entries}`, message: { role: 'user', content: [block] }, origin: 'tool_results' }
}

export const saidOf = (...said: readonly TranscriptEntry[]): UserStatements =>
  userStatementsIn(said, { sessionId, env: {} })

/** Answers every question with this, like a model: checked by the schema of the question. */
export function answering(answer: unknown, asked: string[] = []): Ask {
  return async ({ system, prompt: text, output }) => {
    asked.push(`${system}\n\n${text}`)
    const given = typeof answer === 'function' ? (answer as (text: string) => unknown)(text) : answer
    const checked = output.check(typeof given === 'string' ? given : JSON.stringify(given))
    return checked.fits ? { kind: 'answered', answer: checked.value } : { kind: 'failed', why: checked.message }
  }
}

export const choosing = (
  ...notes: readonly (readonly [topic: string, ...sentences: readonly string[]])[]
): unknown => ({
  notes: notes.map(([topic, ...sentences]) => ({ topic, sentences })),
})

/** What was stored, or what happened instead. */
export async function kept(
  place: MemoryPlace,
  said: UserStatements,
  answer: unknown,
): Promise<Extract<ExtractionResult, { kind: 'kept' }>> {
  const extracted = await extract(place, said, answering(answer), now)
  if (extracted.kind !== 'kept') throw new Error(`not kept: ${JSON.stringify(extracted)}`)
  return extracted
}

/** A file of notes as the program writes it. */
export function topicWith(
  name: string,
  ...notes: readonly (readonly [id: string, text: string, date?: string])[]
): string {
  const lines = notes.map(
    ([id, text, date = '2026-11-01']) => `- ${text} <!-- note ${id} ${date} session-${id}/message-${id} -->\n`,
  )
  return `---\nname: ${name}\ndescription: about ${name}\n---\n\n${lines.join('')}`
}
