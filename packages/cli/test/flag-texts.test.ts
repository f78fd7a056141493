// Help and refusals of flags, for every flag and command, as they were recorded: HALTING_WRITE=1 writes them anew, after a change of what a person reads.
import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkAgreement } from '../src/flags/agreement.ts'
import { commandNames } from '../src/flags/commands.ts'
import type { Flags } from '../src/flags/flags.ts'
import { helpFor } from '../src/flags/help.ts'
import { refuseFlagsOfOthers, refuseLimits } from '../src/flags/flag-commands.ts'
import { parseFlags } from '../src/flags/parse.ts'
import { flagTable } from '../src/flags/table.ts'

const commands = [undefined, ...commandNames]

/** What was recorded; this text itself is, when recordings are written. */
function recorded(name: string, text: string): string {
  const file = new URL(`support/${name}.txt`, import.meta.url)
  if (process.env['HALTING_WRITE'] !== undefined) writeFileSync(file, text)
  return readFileSync(file, 'utf8')
}

function sorted(lines: readonly string[]): string {
  return `${lines.toSorted((one, other) => (one < other ? -1 : 1)).join('\n')}\n`
}

function messageOf(work: () => unknown): string {
  try {
    work()
    return 'accepted'
  } catch (error) {
    return error instanceof Error ? error.message : 'no error'
  }
}

test.each([60, 80, 120])('help of the program and of each command, %i columns wide', (width) => {
  const texts = new Map<string, string[]>()
  for (const command of commands) {
    const text = helpFor(command, width)
    texts.set(text, [...(texts.get(text) ?? []), command ?? 'halting'])
  }
  const all = [...texts].map(([text, names]) => `== ${names.join(', ')}\n\n${text}`).join('\n')
  expect(all).toBe(recorded(`help-${width}`, all))
})

test('what is said of a flag without a value, with a wrong one, and of one that nobody knows', () => {
  const lines = Object.values(flagTable).flatMap(({ names }) =>
    names.flatMap((name) =>
      [[name], [name, '--'], [`${name}=`], [`${name}=not right?`], [`${name}x`], [name.slice(0, -1)]].map((args) => {
        const message = messageOf(() => parseFlags(args))
        return `${JSON.stringify(args)}: ${message}`
      }),
    ),
  )
  const all = sorted(lines)
  expect(all).toBe(recorded('flag-values', all))
})

test('what is said of a flag where a command does not take it', () => {
  const lines = Object.keys(flagTable).flatMap((name) => {
    const messages = new Map<string, string[]>()
    for (const command of commands) {
      // Only whether a flag was given counts here.
      const flags = { [name]: true } as Flags
      const message = [() => refuseFlagsOfOthers(flags, command), () => refuseLimits(flags, command)]
        .map((work) => messageOf(work))
        .join(' | ')
      messages.set(message, [...(messages.get(message) ?? []), command ?? 'halting'])
    }
    return [...messages].map(([message, names]) => `${name}: ${message} [${names.join(' ')}]`)
  })
  const all = sorted(lines)
  expect(all).toBe(recorded('flag-commands', all))
})

test('what is said of one flag alone, and of one beside each way to talk', () => {
  const faces: readonly Flags[] = [
    {},
    { outputFormat: 'stream-json', verbose: true },
    { inputFormat: 'stream-json', outputFormat: 'stream-json' },
  ]
  const lines = Object.keys(flagTable).flatMap((name) =>
    faces.map((face) => {
      // Only whether a flag was given counts here, or that it is on.
      const flags = { [name]: true, ...face } as Flags
      return `${name} ${JSON.stringify(face)}: ${messageOf(() => checkAgreement(flags))}`
    }),
  )
  const all = sorted(lines)
  expect(all).toBe(recorded('flag-agreement', all))
})
