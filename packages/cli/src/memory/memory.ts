import { existsSync } from 'node:fs'
import { memoryPlace, isMemoryEnabled, type MemoryPlace } from '@halting/agent'
import {
  forgetNotes,
  withLockedMemory,
  MemoryError,
  placedNotes,
  readMemory,
  undoDream,
  type Memory,
  type UndoResult,
  type Note,
} from '@halting/agent/memory'
import { wantsJson, type Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { many, money, oneLine, programMessage, printable } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { settingsFor, type RunSettings } from '../flags/session-ports.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { UsageError } from '../usage-error.ts'

const subcommands = ['list', 'show', 'forget', 'dream'] as const

/** `halting memory`: shows and changes the notes of this folder. Only `dream` makes requests. */
export async function memory(
  given: Flags,
  [subcommand = 'list', ...words]: readonly string[],
  program: Program,
): Promise<number> {
  const known = subcommands.find((each) => each === subcommand)
  if (known === undefined) {
    const meant = nearest(subcommand, subcommands)
    throw new UsageError(
      `There is no command halting memory ${oneLine(subcommand, 40)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} Use ${subcommands.join(', ')}.`,
    )
  }
  const run = await settingsFor(given, program)
  const place = memoryPlace(sessionScope({ ...program, env: run.env }), run.settings)
  const command = { run, place, words, program }
  try {
    switch (known) {
      case 'list':
        return await list(command)
      case 'show':
        return await show(command)
      case 'forget':
        return await forget(command)
      case 'dream':
        return await (words.length === 0 ? dreamNow(command) : undo(command))
    }
  } catch (thrown) {
    if (!(thrown instanceof MemoryError)) throw thrown
    program.output.err(programMessage(oneLine(thrown.message, 500)))
    return 1
  }
}

interface MemoryCommand {
  readonly run: RunSettings
  readonly place: MemoryPlace
  readonly words: readonly string[]
  readonly program: Program
}

async function readNotes({ place, program }: MemoryCommand): Promise<Memory> {
  const found = await readMemory(place)
  for (const problem of found.problems) program.output.err(programMessage(oneLine(problem, 500)))
  return found
}

async function list(command: MemoryCommand): Promise<number> {
  const { run, words, place, program } = command
  if (words.length > 0)
    throw new UsageError('halting memory list takes no arguments. For one topic, use halting memory show TOPIC.')
  const found = await readNotes(command)
  const { output } = program
  if (wantsJson(run.choices)) output.out(`${JSON.stringify(memoryJson(found, place, run))}\n`)
  else if (found.topics.length > 0) output.out(memoryText(found, output.width))
  else output.err(programMessage(`no notes of earlier sessions in this folder (${oneLine(place.path, 300)}).`))
  return 0
}

async function show(command: MemoryCommand): Promise<number> {
  const { run, words, program } = command
  const [about, ...more] = words
  if (about === undefined || more.length > 0)
    throw new UsageError('halting memory show takes one topic, or the ID of one note.')
  const found = await readNotes(command)
  const { output } = program
  const isJson = wantsJson(run.choices)
  const topic = found.topics.find(({ name }) => name === about)
  if (topic !== undefined) {
    const { name, description, notes, file } = topic
    const facts = { topic: name, description, text: file.text, notes: notes.map((note) => noteJson(note, name)) }
    output.out(isJson ? `${JSON.stringify(facts)}\n` : `${file.text.trimEnd()}\n`)
    return 0
  }
  const placed = placedNotes(found).find(({ note }) => note.id === about)
  if (placed === undefined) throw unknownNameError(about, found)
  output.out(
    isJson ? `${JSON.stringify(noteJson(placed.note, placed.topic.name))}\n` : noteText(placed.note, placed.topic.name),
  )
  return 0
}

function unknownNameError(about: string, found: Memory): UsageError {
  const names = [...found.topics.map(({ name }) => name), ...placedNotes(found).map(({ note }) => note.id)]
  const meant = nearest(about, names)
  return new UsageError(
    `There is no topic or note "${oneLine(about, 60)}".${meant === undefined ? '' : ` Did you mean ${meant}?`} halting memory lists them.`,
  )
}

async function forget(command: MemoryCommand): Promise<number> {
  const { run, place, words, program } = command
  if (words.length === 0)
    throw new UsageError('halting memory forget takes the IDs of notes. halting memory lists them.')
  const there = await readNotes(command)
  const ids = new Set(placedNotes(there).map(({ note }) => note.id))
  // Deletes all of the notes or none, so that a typo has no partial effect.
  const unknownId = words.find((word) => !ids.has(word))
  if (unknownId !== undefined) throw unknownNameError(unknownId, there)
  const { gone, left } = await withLockedMemory(place, (locked) => forgetNotes(locked, new Set(words)))
  const { output } = program
  if (wantsJson(run.choices)) output.out(`${JSON.stringify({ forgotten: gone.map(({ id }) => id) })}\n`)
  else for (const { id, text } of gone) output.out(`Deleted: ${id}  ${oneLine(text, output.width - 21)}\n`)
  for (const { id } of left)
    output.err(programMessage(`${id} is in a file that halting does not write. Remove it by hand.`))
  return left.length === 0 ? 0 : 1
}

async function dreamNow(command: MemoryCommand): Promise<number> {
  const { run, program } = command
  const { output } = program
  const { dreamOnce } = await import('./dream-once.ts')
  const { end, report, exitCode } = await dreamOnce(run, command.place, program)
  const isJson = wantsJson(run.choices)
  if (end?.kind === 'done') {
    const { before, after, merged, dropped } = end
    const cost = { total_cost_usd: report.costUsd, num_turns: report.turns }
    if (isJson) {
      output.out(`${JSON.stringify({ before, after, merged, dropped: dropped.map(({ id }) => id), ...cost })}\n`)
      return 0
    }
    const paid = report.costUsd > 0 ? ` (${money(report.costUsd)})` : ''
    output.out(
      `${many(before, 'note')} before, ${after} now: ${merged} merged or shortened, ${dropped.length} dropped${paid}.\n`,
    )
    for (const { id, text } of dropped) output.out(`  dropped ${id}  ${oneLine(text, output.width - 20)}\n`)
    if (merged + dropped.length > 0) output.err(programMessage('Undo with halting memory dream undo.'))
    return 0
  }
  if (end?.kind === 'nothing to do') {
    output.err(programMessage('nothing to do: there are fewer than two notes.'))
    return 0
  }
  const why = report.message === '' ? report.reason : report.message
  output.err(programMessage(`the notes were not changed (${report.reason}): ${oneLine(why, 300)}`))
  return exitCode
}

async function undo({ run, place, words, program }: MemoryCommand): Promise<number> {
  if (words.length > 1 || words[0] !== 'undo') throw new UsageError('halting memory dream takes no arguments, or undo.')
  const { output } = program
  // Locking would create a memory folder, so this checks first.
  const undone: UndoResult = existsSync(place.path) ? await withLockedMemory(place, undoDream) : { kind: 'nothing' }
  if (wantsJson(run.choices)) output.out(`${JSON.stringify(undone)}\n`)
  switch (undone.kind) {
    case 'nothing':
      output.err(programMessage('there is no dream to undo.'))
      return 1
    case 'changed':
      output.err(
        programMessage(
          `nothing was undone: ${undone.names.join(', ')} changed since the dream of ${undone.at}, and these changes would be lost. Delete single notes with halting memory forget.`,
        ),
      )
      return 1
    case 'undone':
      if (!wantsJson(run.choices))
        output.out(`Undone: the dream of ${undone.at}. Restored: ${undone.names.join(', ')}.\n`)
      return 0
  }
}

/** The JSON of a memory. */
function memoryJson(
  { topics, problems }: Memory,
  { path }: MemoryPlace,
  { settings, env }: RunSettings,
): { readonly [field: string]: unknown } {
  return {
    folder: path,
    enabled: isMemoryEnabled(settings, env),
    topics: topics.map(({ name, description, notes }) => ({
      topic: name,
      description,
      notes: notes.map((note) => noteJson(note, name)),
    })),
    problems,
  }
}

function noteJson({ id, text, date, sources }: Note, topic: string): { readonly [field: string]: unknown } {
  const from = sources.map(({ sessionId, messageId }) => ({ session_id: sessionId, message_uuid: messageId }))
  return { id, topic, date, text, sources: from }
}

/** One line per topic and per note. */
function memoryText({ topics }: Memory, width: number): string {
  return topics
    .flatMap(({ name, description, notes }) => [
      oneLine(`${name}: ${description} (${many(notes.length, 'note')})`, width),
      ...notes.map(({ id, date, text }) => `  ${id}  ${date}  ${oneLine(text, width - 24)}`),
    ])
    .map((line) => `${line}\n`)
    .join('')
}

/** The full text of a note and its sources. */
function noteText({ id, text, date, sources }: Note, topic: string): string {
  const from = sources.map(
    ({ sessionId, messageId }) => `  from message ${printable(messageId)} of session ${printable(sessionId)}\n`,
  )
  return `${printable(text)}\n  ${id} in ${topic}, ${date}\n${from.join('')}`
}
