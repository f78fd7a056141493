import { outputSchemaFromCheck, isJsonObject } from '@halting/core/adapters'
import type { JsonObject, OutputSchema } from '@halting/core'
import { framedText, listIn, textsIn, withoutTags } from './model-answer.ts'
import { inOneLine, maxNoteCharacters, newNote } from './note.ts'
import { type Memory, notesOf } from './read-memory.ts'
import type { UserStatements } from './user-statements.ts'
import type { NewNote } from './store.ts'
import { builtinTopics } from './topic.ts'
import * as texts from './memory-texts.ts'

/** A question to a model. */
export interface Question<Answer> {
  /** The system prompt. */
  readonly system: string
  /** The prompt. */
  readonly prompt: string
  /** The schema of the answer. */
  readonly output: OutputSchema<Answer>
}

/** A model's choice of user sentences, by their numbers. */
export interface Choice {
  readonly topic: string
  readonly sentences: readonly string[]
}

/** Maximum number of notes of one run. */
const maxNewNotes = 5
const leastCharacters = 20
const contextCharacters = 3_000
const knownCharacters = 4_000

// Spec R-MEM-4.
/**
 * Asks which sentences of the user to store. The model answers with numbers and topics from the question, so neither
 * its own words nor those of tools or earlier replies become part of a note.
 */
export function extractionQuestion(
  statements: UserStatements,
  memory: Memory,
): Question<readonly Choice[]> | undefined {
  const all = statements.person.flatMap(({ sentences }) => sentences).join(' ')
  if (all.length < leastCharacters) return undefined
  const topics = topicsOf(memory)
  const messages = statements.person.map(({ messageId, sentences }, message) =>
    framedText(
      `person message="${messageId}"`,
      sentences.map((sentence, at) => `${message + 1}.${at + 1} ${sentence}`).join('\n'),
    ),
  )
  const known = notesOf(memory)
    .map(({ text }) => `- ${text}`)
    .join('\n')
  return {
    system: [
      texts.extractionTask,
      texts.extractionCriteria,
      texts.extractionTopics(topics),
      texts.extractionBounds(maxNewNotes),
    ].join('\n\n'),
    prompt: [
      ...messages,
      framedText('assistant', statements.assistant.join('\n\n').slice(-contextCharacters)),
      framedText('notes', known.slice(-knownCharacters)),
      texts.extractionQuestion,
    ].join('\n\n'),
    output: choices(topics.map(([name]) => name)),
  }
}

function topicsOf({ topics }: Memory): readonly (readonly [name: string, about: string])[] {
  const all = new Map<string, string>(Object.entries(builtinTopics))
  for (const { name, description, file } of topics)
    if (file.isWhole) all.set(name, (all.get(name) ?? withoutTags(inOneLine(description))).slice(0, 100))
  return [...all]
}

function choices(topics: readonly string[]): OutputSchema<readonly Choice[]> {
  const note: JsonObject = {
    type: 'object',
    properties: {
      topic: { enum: topics },
      sentences: { type: 'array', items: { type: 'string', pattern: '^\\d+\\.\\d+$' }, minItems: 1 },
    },
    required: ['topic', 'sentences'],
    additionalProperties: false,
  }
  const schema: JsonObject = {
    type: 'object',
    properties: { notes: { type: 'array', maxItems: maxNewNotes, items: note } },
    required: ['notes'],
    additionalProperties: false,
  }
  return outputSchemaFromCheck(schema, (answer) => {
    const list = listIn(answer, 'notes')
    if (list === undefined) return { fits: false, message: texts.notesNotList }
    const read = list.map((each) => choiceOf(each, topics))
    const value = read.flatMap((each) => each ?? [])
    if (value.length === read.length) return { fits: true, value: value.slice(0, maxNewNotes) }
    return { fits: false, message: texts.invalidChoice(topics) }
  })
}

function choiceOf(rawChoice: unknown, topics: readonly string[]): Choice | undefined {
  if (!isJsonObject(rawChoice)) return undefined
  const { topic } = rawChoice
  const sentences = textsIn(rawChoice, 'sentences')
  if (typeof topic !== 'string' || !topics.includes(topic) || sentences === undefined) return undefined
  return { topic, sentences }
}

/** Notes for the chosen sentences, and errors for choices that name no user sentence. */
export function notesOfChoices(
  choices: readonly Choice[],
  statements: UserStatements,
  date: string,
): { readonly notes: readonly NewNote[]; readonly refused: readonly string[] } {
  const notes: NewNote[] = []
  const refused: string[] = []
  for (const { topic, sentences } of choices) {
    const found = chosen(sentences, statements)
    if (typeof found === 'string') refused.push(found)
    else {
      const source = { sessionId: statements.sessionId, messageId: found.messageId }
      notes.push({ topic, note: newNote(found.text, date, source) })
    }
  }
  return { notes, refused }
}

const maxSentences = 4

/** The sentences of a chosen range, or why it is invalid. */
function chosen(
  numbers: readonly string[],
  { person }: UserStatements,
): { readonly messageId: string; readonly text: string } | string {
  const places = numbers.map((number) => number.split('.').map((part) => Number(part) - 1))
  const message = person[places[0]?.[0] ?? -1]
  const isOfOne = places.every(([at]) => person[at ?? -1] === message)
  const lines = places.map(([, line]) => line ?? -1)
  if (message === undefined || !isOfOne || lines.some((line) => message.sentences[line] === undefined))
    return 'it names no sentences of one message of the user'
  const [first, last] = [Math.min(...lines), Math.max(...lines)]
  if (last - first >= maxSentences) return `it is longer than ${maxSentences} sentences`
  const text = message.sentences.slice(first, last + 1).join(' ')
  return text.length > maxNoteCharacters
    ? `it is longer than ${maxNoteCharacters} characters`
    : { messageId: message.messageId, text }
}
