import { isJsonObject, outputSchemaFromCheck } from '@halting/core/adapters'
import type { JsonObject, OutputSchema } from '@halting/core'
import type { Question } from './extraction.ts'
import { framedText, listIn, textsIn } from './model-answer.ts'
import { inOneLine, maxNoteCharacters, newNote, type Note, union } from './note.ts'
import type { Memory } from './read-memory.ts'
import { Changes, placedNotes } from './store.ts'
import * as texts from './memory-texts.ts'

/** Notes to merge into one, given as numbers of their sentences. */
interface Merge {
  readonly from: readonly string[]
  readonly sentences: readonly string[]
}

/** A model's proposal for consolidating notes. Notes that the proposal does not name remain. */
export interface Dream {
  readonly merge: readonly Merge[]
  readonly drop: readonly string[]
}

/** Maximum characters of notes that one dream processes. */
const maxCharacters = 60_000

/** A note with its number in the question to the model. */
export interface NumberedNote {
  readonly note: Note
  readonly topic: string
  readonly sentences: readonly string[]
}

/** Returns the notes of writable files, oldest first, as many as fit. */
export function notesForDream(memory: Memory): readonly NumberedNote[] {
  const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
  let left = maxCharacters
  return placedNotes(memory)
    .filter(({ topic }) => topic.file.isWhole)
    .map(({ topic, note }) => ({
      note,
      topic: topic.name,
      sentences: [...segmenter.segment(note.text)]
        .map(({ segment }) => inOneLine(segment))
        .filter((each) => each !== ''),
    }))
    .toSorted((a, b) => a.note.date.localeCompare(b.note.date))
    .filter(({ note }) => (left -= note.text.length) >= 0)
}

/** The question how to consolidate the notes; undefined if there is nothing to do. */
export function dreamQuestion(notes: readonly NumberedNote[]): Question<Dream> | undefined {
  if (notes.length < 2) return undefined
  const lines = notes.map(
    ({ note, topic, sentences }) =>
      `${note.id} (${topic}, ${note.date})\n${sentences.map((sentence, at) => `  ${note.id}.${at + 1} ${sentence}`).join('\n')}`,
  )
  return {
    system: [texts.dreamTask, texts.dreamRules, texts.dreamBounds].join('\n\n'),
    prompt: [framedText('notes', lines.join('\n')), texts.dreamQuestion].join('\n\n'),
    output: dreams(),
  }
}

function dreams(): OutputSchema<Dream> {
  const ids: JsonObject = { type: 'array', items: { type: 'string' } }
  const merge: JsonObject = {
    type: 'object',
    properties: { from: { ...ids, minItems: 1 }, sentences: { ...ids, minItems: 1 } },
    required: ['from', 'sentences'],
    additionalProperties: false,
  }
  const schema: JsonObject = {
    type: 'object',
    properties: { merge: { type: 'array', items: merge }, drop: ids },
    required: ['merge', 'drop'],
    additionalProperties: false,
  }
  return outputSchemaFromCheck(schema, (answer) => {
    const merges = listIn(answer, 'merge')?.map(mergeOf)
    const drop = isJsonObject(answer) ? textsIn(answer, 'drop') : undefined
    const merge = merges?.flatMap((each) => each ?? [])
    if (merge === undefined || drop === undefined || merge.length !== merges?.length)
      return { fits: false, message: texts.invalidDream }
    return { fits: true, value: { merge, drop } }
  })
}

function mergeOf(value: unknown): Merge | undefined {
  if (!isJsonObject(value)) return undefined
  const [from, sentences] = [textsIn(value, 'from'), textsIn(value, 'sentences')]
  return from === undefined || sentences === undefined ? undefined : { from, sentences }
}

/** The result of a dream, or why it is not applied. */
export type DreamResult =
  | { readonly kind: 'refused'; readonly why: string }
  | {
      readonly kind: 'files'
      readonly files: ReadonlyMap<string, string | undefined>
      /** Number of notes before and after. */
      readonly before: number
      readonly after: number
      readonly dropped: readonly Note[]
      readonly merged: number
    }

// Spec R-DREAM-3.
/**
 * Applies an answer to the notes that the question contained. A merged note has the sources of all its parts. An
 * answer that names unknown notes, or removes more than half of the notes, is rejected as a whole.
 */
export function applyDream({ merge, drop }: Dream, notes: readonly NumberedNote[], memory: Memory): DreamResult {
  const known = new Map(notes.map((each) => [each.note.id, each]))
  const named = [...drop, ...merge.flatMap(({ from }) => from)]
  if (known.size !== notes.length) return refused('two notes have the same id')
  if (named.some((id) => !known.has(id))) return refused('the answer names notes that are not there')
  if (new Set(named).size !== named.length) return refused('the answer names a note twice')
  if (drop.length > notes.length / 2) return refused('the answer drops more than half of the notes')
  const keptIds = new Set(merge.flatMap(({ sentences }) => sentences.map((number) => number.split('.')[0])))
  const gone = named.filter((id) => !keptIds.has(id)).length
  if (gone > 1 && gone > (notes.length * 2) / 3)
    return refused('the answer leaves nothing of more than two thirds of the notes')
  const changes = new Changes(memory)
  for (const { from, sentences } of merge) {
    const parts = from.flatMap((id) => known.get(id) ?? [])
    const [first] = parts
    const chosen = sentences.map((number) => sentenceOf(number, parts))
    if (first === undefined || chosen.some((each) => each === undefined) || chosen.length === 0)
      return refused('the answer names sentences that are not in the notes that it merges')
    const text = [...new Set(chosen)].join(' ')
    if (text.length > maxNoteCharacters) return refused(`a merged note is longer than ${maxNoteCharacters} characters`)
    changes.swap(first.topic, first.note.id, mergedNote(text, parts))
    for (const { topic, note } of parts.slice(1)) changes.remove(topic, note.id)
  }
  for (const id of drop) {
    const dropped = known.get(id)
    if (dropped !== undefined) changes.remove(dropped.topic, id)
  }
  const after = notes.length - drop.length - merge.reduce((sum, { from }) => sum + from.length - 1, 0)
  return {
    kind: 'files',
    files: changes.files(),
    before: notes.length,
    after,
    dropped: drop.flatMap((id) => known.get(id)?.note ?? []),
    merged: merge.length,
  }
}

function refused(why: string): DreamResult {
  return { kind: 'refused', why }
}

function sentenceOf(number: string, parts: readonly NumberedNote[]): string | undefined {
  const [id, at] = number.split('.')
  return parts.find(({ note }) => note.id === id)?.sentences[Number(at) - 1]
}

function mergedNote(text: string, parts: readonly NumberedNote[]): Note {
  const sources = union(...parts.map(({ note }) => note.sources))
  const date = parts.map(({ note }) => note.date).reduce((latest, each) => (each > latest ? each : latest), '')
  const [source = { sessionId: '', messageId: '' }] = sources
  return { ...newNote(text, date, source), sources }
}
