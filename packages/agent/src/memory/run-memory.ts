import { type Choice, extractionQuestion, notesOfChoices, type Question } from './extraction.ts'
import { type Dream, dreamed, dreamQuestion, type Dreamt, dreamtNotes } from './dream.ts'
import { isDreamDue, noteDream } from './dream-times.ts'
import type { Note } from './note.ts'
import type { MemoryOwner, MemoryPlace } from './places.ts'
import { type Memory, readMemory } from './read-memory.ts'
import type { Said } from './said.ts'
import { type Added, addNotes, type HeldMemory, holdingMemory } from './store.ts'
import { keepBefore } from './undo-dream.ts'

/** A model's answer, or why there is none. */
export type Asked<Answer> =
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
export type Ask = <Answer>(question: Question<Answer>) => Promise<Asked<Answer>>

/** The result of an extraction. */
export type Extracted =
  | { readonly kind: 'nothing said' }
  | {
      readonly kind: 'failed'
      /** Why, in a sentence. */
      readonly why: string
    }
  | {
      readonly kind: 'kept'
      /** Notes that were added. */
      readonly added: Added['added']
      /** Notes that were merged with existing ones. */
      readonly merged: Added['merged']
      /** Why notes were not stored and sentences not considered, without their text. */
      readonly refused: readonly string[]
    }

// Spec R-MEM-4.
/**
 * Stores statements of the user in a run that are worth keeping. The memory is locked while notes are written, but not
 * while the model is asked.
 * @throws MemoryError if it cannot be written.
 */
export async function extract(
  place: MemoryPlace,
  said: Said,
  ask: Ask,
  now: Date,
  signal?: AbortSignal,
): Promise<Extracted> {
  const question = extractionQuestion(said, await readMemory(place))
  if (question === undefined) return { kind: 'nothing said' }
  const asked = await ask<readonly Choice[]>(question)
  if (asked.kind === 'failed') return asked
  const { notes, refused } = notesOfChoices(asked.answer, said, now.toISOString().slice(0, 10))
  const none: Added = { added: [], merged: [], refused: [] }
  const kept = notes.length === 0 ? none : await holdingMemory(place, (held) => addNotes(held, notes), signal)
  return {
    kind: 'kept',
    added: kept.added,
    merged: kept.merged,
    refused: [...said.withheld, ...refused, ...kept.refused.map(({ why }) => why)],
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
 * Consolidates the notes with one question to a model. `whenever` skips the check whether it is due.
 * @throws MemoryError if the memory cannot be written.
 */
export async function dream(place: MemoryPlace, { owner, ask, now, when, signal }: DreamOptions): Promise<DreamEnd> {
  if (dreamQuestion(dreamtNotes(await readMemory(place))) === undefined) return { kind: 'nothing to do' }
  // Of several processes only one sees that it is due.
  const notes = await holdingMemory(
    place,
    async ({ memory }) => {
      if (when === 'due' && !(await isDreamDue(place, owner, now))) return undefined
      await noteDream(place, 'tried', now)
      return dreamtNotes(memory)
    },
    signal,
  )
  if (notes === undefined) return { kind: 'not due' }
  const question = dreamQuestion(notes)
  if (question === undefined) return { kind: 'nothing to do' }
  const asked = await ask<Dream>(question)
  if (asked.kind === 'failed') return asked
  return holdingMemory(place, (held) => carryOut(held, place, { answer: asked.answer, notes, now }), signal)
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
  /** Once it is aborted, nothing is written. */
  readonly signal?: AbortSignal
}

async function carryOut(
  held: HeldMemory,
  place: MemoryPlace,
  { answer, notes, now }: { readonly answer: Dream; readonly notes: readonly Dreamt[]; readonly now: Date },
): Promise<DreamEnd> {
  if (!stillThere(notes, held.memory)) return { kind: 'failed', why: 'the notes were changed in the meantime' }
  const end = dreamed(answer, notes, held.memory)
  if (end.kind === 'refused') return { kind: 'failed', why: end.why }
  const { files, before, after, merged, dropped } = end
  if (files.size > 0) {
    await keepBefore(held, files, now)
    await held.write(files)
  }
  await noteDream(place, 'done', now)
  return { kind: 'done', before, after, merged, dropped }
}

function stillThere(notes: readonly Dreamt[], memory: Memory): boolean {
  const now = new Map(dreamtNotes(memory).map((each) => [each.note.id, each]))
  return notes.every(({ note, topic }) => {
    const found = now.get(note.id)
    return found !== undefined && found.topic === topic && found.note.text === note.text
  })
}
