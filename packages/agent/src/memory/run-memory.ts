import { type Choice, extractionQuestion, notesOfChoices, type Question } from './extraction.ts'
import { type Dream, applyDream, dreamQuestion, type NumberedNote, notesForDream } from './dream.ts'
import { isDreamDue, recordDream } from './dream-times.ts'
import type { Note } from './note.ts'
import type { MemoryOwner, MemoryPlace } from './places.ts'
import { type Memory, readMemory } from './read-memory.ts'
import type { UserStatements } from './user-statements.ts'
import { type AddedNotes, addNotes, type LockedMemory, withLockedMemory } from './store.ts'
import { writeBackup } from './undo-dream.ts'

/** A model's answer, or why it is missing. */
export type ModelAnswer<Answer> =
  | {
      readonly kind: 'answered'
      /** The answer. */
      readonly answer: Answer
    }
  | {
      readonly kind: 'failed'
      /** Why there is no answer, in a sentence. */
      readonly why: string
    }

/** Asks a model, within the limits of the caller. */
export type Ask = <Answer>(question: Question<Answer>) => Promise<ModelAnswer<Answer>>

/** The result of an extraction. */
export type ExtractionResult =
  | { readonly kind: 'nothing said' }
  | {
      readonly kind: 'failed'
      /** Why, in a sentence. */
      readonly why: string
    }
  | {
      readonly kind: 'kept'
      /** Notes that were added. */
      readonly added: AddedNotes['added']
      /** Notes that were merged with existing ones. */
      readonly merged: AddedNotes['merged']
      /** Reasons for notes that were not stored and sentences that were not considered, without their text. */
      readonly refused: readonly string[]
    }

// Spec R-MEM-4.
/**
 * Stores statements of the user in a run that are useful later. The memory is locked while notes are written, but not
 * while the model is asked.
 * @throws MemoryError if the memory cannot be written.
 */
export async function extract(
  place: MemoryPlace,
  statements: UserStatements,
  ask: Ask,
  now: Date,
  signal?: AbortSignal,
): Promise<ExtractionResult> {
  const question = extractionQuestion(statements, await readMemory(place))
  if (question === undefined) return { kind: 'nothing said' }
  const reply = await ask<readonly Choice[]>(question)
  if (reply.kind === 'failed') return reply
  const { notes, refused } = notesOfChoices(reply.answer, statements, now.toISOString().slice(0, 10))
  const none: AddedNotes = { added: [], merged: [], refused: [] }
  const stored = notes.length === 0 ? none : await withLockedMemory(place, (locked) => addNotes(locked, notes), signal)
  return {
    kind: 'kept',
    added: stored.added,
    merged: stored.merged,
    refused: [...statements.withheld, ...refused, ...stored.refused.map(({ why }) => why)],
  }
}

/** The result of a dream. */
export type DreamEnd =
  | { readonly kind: 'not due' }
  /** Fewer than two notes could be consolidated. */
  | { readonly kind: 'nothing to do' }
  | {
      readonly kind: 'failed'
      /** Why, in a sentence. */
      readonly why: string
    }
  | {
      readonly kind: 'done'
      /** Number of notes before. */
      readonly before: number
      /** Number of notes after. */
      readonly after: number
      /** Number of notes that were merged with others. */
      readonly merged: number
      /** Notes that were removed. */
      readonly dropped: readonly Note[]
    }

// Spec R-DREAM-2.
/**
 * Consolidates the notes with one question to a model. `whenever` skips the check whether a dream is due.
 * @throws MemoryError if the memory cannot be written.
 */
export async function dream(place: MemoryPlace, { owner, ask, now, when, signal }: DreamOptions): Promise<DreamEnd> {
  if (dreamQuestion(notesForDream(await readMemory(place))) === undefined) return { kind: 'nothing to do' }
  // Of several processes, only one finds that a dream is due.
  const notes = await withLockedMemory(
    place,
    async ({ memory }) => {
      if (when === 'due' && !(await isDreamDue(place, owner, now))) return undefined
      await recordDream(place, 'tried', now)
      return notesForDream(memory)
    },
    signal,
  )
  if (notes === undefined) return { kind: 'not due' }
  const question = dreamQuestion(notes)
  if (question === undefined) return { kind: 'nothing to do' }
  const reply = await ask<Dream>(question)
  if (reply.kind === 'failed') return reply
  return withLockedMemory(place, (locked) => carryOut(locked, place, { answer: reply.answer, notes, now }), signal)
}

/** Options of `dream`. */
export interface DreamOptions {
  /** The owner of the notes. */
  readonly owner: MemoryOwner
  /** Asks the model. */
  readonly ask: Ask
  /** The current time. */
  readonly now: Date
  /** `due`: only when enough sessions and hours have passed. */
  readonly when: 'due' | 'whenever'
  /** Once the signal is aborted, nothing is written. */
  readonly signal?: AbortSignal
}

async function carryOut(
  locked: LockedMemory,
  place: MemoryPlace,
  { answer, notes, now }: { readonly answer: Dream; readonly notes: readonly NumberedNote[]; readonly now: Date },
): Promise<DreamEnd> {
  if (!stillThere(notes, locked.memory)) return { kind: 'failed', why: 'the notes were changed in the meantime' }
  const end = applyDream(answer, notes, locked.memory)
  if (end.kind === 'refused') return { kind: 'failed', why: end.why }
  const { files, before, after, merged, dropped } = end
  if (files.size > 0) {
    await writeBackup(locked, files, now)
    await locked.write(files)
  }
  await recordDream(place, 'done', now)
  return { kind: 'done', before, after, merged, dropped }
}

function stillThere(notes: readonly NumberedNote[], memory: Memory): boolean {
  const now = new Map(notesForDream(memory).map((each) => [each.note.id, each]))
  return notes.every(({ note, topic }) => {
    const found = now.get(note.id)
    return found !== undefined && found.topic === topic && found.note.text === note.text
  })
}
