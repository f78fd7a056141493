// Help and error messages of flags, for every flag and command, compared with recordings. HALTING_WRITE=1 writes them after a change of texts.
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkFlagConflicts } from '../src/flags/flag-conflicts.ts'
import { commandHelp, partHelp } from '../src/flags/command-help.ts'
import { commandTable } from '../src/flags/command-table.ts'
import { commandNames, isCommand } from '../src/flags/commands.ts'
import type { Flags } from '../src/flags/flags.ts'
import { pageForCall, pageNamed } from '../src/flags/help-page.ts'
import { flagTopics, type HelpPage, helpText } from '../src/flags/help.ts'
import { flagsForRuns, commandFlags, refuseFlagsOfOthers, refuseLimits } from '../src/flags/flag-commands.ts'
import { parseFlags } from '../src/flags/parse.ts'
import { flagTable } from '../src/flags/table.ts'

const commands = [undefined, ...commandNames]

/** The recorded text; when recordings are written, the text itself. */
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

const pages: readonly HelpPage[] = [
  { kind: 'program' },
  { kind: 'prompt' },
  { kind: 'flags' },
  ...flagTopics.map((topic) => ({ kind: 'flags', topic }) as const),
  ...commandNames.map((command) => ({ kind: 'command', command }) as const),
  ...Object.keys(partHelp).map((name) => pageNamed(name.split(' '))),
]

function titleOf(page: HelpPage): string {
  switch (page.kind) {
    case 'program':
      return 'halting --help'
    case 'prompt':
      return 'halting -p --help'
    case 'flags':
      return `halting help flags ${page.topic ?? ''}`.trim()
    case 'command':
      return `halting ${page.command} ${page.part ?? ''}`.trim()
  }
}

describe.each([60, 80, 120])('help %i columns wide', (width) => {
  test('matches the recording', () => {
    // The flags of a topic are those of the page of all flags.
    const shown = pages.filter((page) => page.kind !== 'flags' || page.topic === undefined)
    const all = shown.map((page) => `== ${titleOf(page)}\n\n${helpText(page, width)}`).join('\n')
    expect(all).toBe(recorded(`help-${width}`, all))
  })

  test('is not wider than its width (spec R-HELP-3)', () => {
    const tooWide = pages.flatMap((page) =>
      helpText(page, width)
        .split('\n')
        .filter((line) => line.length > width)
        .map((line) => `${titleOf(page)}: ${line}`),
    )
    expect(tooWide).toEqual([])
  })

  test('begins with a first screen of at most 40 lines that names every command (spec R-HELP-1)', () => {
    const screen = helpText({ kind: 'program' }, width)
    expect(screen.trimEnd().split('\n').length).toBeLessThanOrEqual(40)
    const named = new Set(
      [...screen.matchAll(/^ {2}([a-z][a-z-]*(?:, [a-z-]+)*) {2,}/gm)].flatMap(([, names = '']) => names.split(', ')),
    )
    expect(commandNames.filter((name) => name !== 'help' && !named.has(name))).toEqual([])
    for (const page of ['halting COMMAND --help', 'halting help flags'])
      expect(screen.replaceAll(/\s+/g, ' ')).toContain(page)
  })
})

test('has help for each command, with a usage line, a sentence, its flags and an example', () => {
  for (const command of commandNames) {
    const text = helpText({ kind: 'command', command }, 80)
    expect(text).toMatch(new RegExp(`^Usage: halting ${command}\\b`))
    expect(text).toMatch(/\nExamples?:\n {2}.*halting/)
    expect(text).toContain('--help')
    // Their summaries and the first line of each fit a narrow terminal.
    expect([command, commandHelp[command].summary.length]).toEqual([
      command,
      expect.toSatisfy((length: number) => length <= 42),
    ])
  }
})

test('lists only flags of the command in help of its subcommands', () => {
  for (const [name, { flags }] of Object.entries(partHelp)) {
    const [command = ''] = name.split(' ')
    if (!isCommand(command)) throw new Error(`${command} is not a command.`)
    const known =
      commandTable[command].takes === 'flags of runs'
        ? [...commandFlags(command), ...flagsForRuns()]
        : commandFlags(command)
    expect([name, flags.filter((flag) => !known.includes(flagTable[flag]))]).toEqual([name, []])
  }
})

test('lists each flag once in the help of all flags, and in that of each command that accepts it (spec R-HELP-2)', () => {
  const rowsOf = (text: string, names: readonly string[]): number =>
    text
      .split('\n')
      .filter(
        (line) => line.startsWith(`  ${names.join(', ')}`) && !/[\w-]/.test(line.charAt(2 + names.join(', ').length)),
      ).length
  const all = helpText({ kind: 'flags' }, 80)
  const rows = Object.values(flagTable)
  for (const { names } of rows.filter(
    ({ names: each }) => rows.filter((row) => row.names.includes(each[0] ?? '')).length === 1,
  ))
    expect([names, rowsOf(all, names)]).toEqual([names, 1])
  const topics = flagTopics.flatMap((topic) => helpText({ kind: 'flags', topic }, 80).trimEnd().split('\n'))
  for (const { names } of rows)
    expect(topics.filter((line) => line.startsWith(`  ${names.join(', ')}`)).length).toBeGreaterThan(0)
  for (const command of commandNames.filter((name) => name !== 'mcp')) {
    const text = helpText({ kind: 'command', command }, 80)
    expect([command, commandFlags(command).filter(({ names }) => rowsOf(text, names) !== 1)]).toEqual([command, []])
    const { flags = [], topics = [] } = commandHelp[command]
    const ofRuns = flagsForRuns().filter(
      (flag) => topics.includes(flag.topic) || flags.some((name) => flagTable[name] === flag),
    )
    expect(ofRuns.length === 0).toBe(commandTable[command].takes === 'own flags')
    expect([command, ofRuns.filter(({ names }) => !names.some((name) => text.includes(name)))]).toEqual([command, []])
  }
  expect(flagsForRuns().filter(({ names }) => rowsOf(helpText({ kind: 'prompt' }, 80), names) !== 1)).toEqual([])
})

test.each([
  [[], { kind: 'program' }],
  [['why'], { kind: 'command', command: 'why' }],
  [['sessions', 'show'], { kind: 'command', command: 'sessions', part: 'show' }],
  [['mcp', 'add'], { kind: 'command', command: 'mcp', part: 'add' }],
  [['-p'], { kind: 'prompt' }],
  [['--print'], { kind: 'prompt' }],
  [['flags'], { kind: 'flags' }],
  [['flags', 'sessions'], { kind: 'flags', topic: 'sessions' }],
  [['limits'], { kind: 'flags', topic: 'limits' }],
  [['--max-turns'], { kind: 'flags', topic: 'limits' }],
  [['--help'], { kind: 'command', command: 'help' }],
])('prints halting help %j', (argv, page) => {
  expect(pageNamed(argv)).toEqual(page)
})

test.each([
  [['doctr'], 'There is no command "doctr". Did you mean doctor?'],
  [['xyzzyplugh'], 'There is no command "xyzzyplugh". halting --help lists all commands.'],
  [['flags', 'limit'], `There is no topic "limit". Did you mean limits? Topics: ${flagTopics.join(', ')}.`],
  [['--max-turn'], 'There is no flag --max-turn. Did you mean --max-turns?'],
])('refuses halting help %j (spec R-HELP-4)', (argv, message) => {
  expect(messageOf(() => pageNamed(argv))).toBe(message)
})

test('prints the page of the command before --help', () => {
  expect(pageForCall('sessions', {}, ['show', 'abc'])).toEqual({ kind: 'command', command: 'sessions', part: 'show' })
  expect(pageForCall('sessions', {}, ['abc'])).toEqual({ kind: 'command', command: 'sessions' })
  expect(pageForCall(undefined, { print: true }, ['why'])).toEqual({ kind: 'prompt' })
  expect(pageForCall(undefined, {}, ['Fix the build.'])).toEqual({ kind: 'program' })
  expect(messageOf(() => pageForCall(undefined, {}, ['doctr']))).toBe(
    'There is no command "doctr". Did you mean doctor?',
  )
})

test('explains a flag without a value, with a wrong one, and an unknown flag', () => {
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

test('explains a flag that a command does not accept', () => {
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

test('explains a flag alone, and with each output format', () => {
  const faces: readonly Flags[] = [
    {},
    { outputFormat: 'stream-json', verbose: true },
    { inputFormat: 'stream-json', outputFormat: 'stream-json' },
  ]
  const lines = Object.keys(flagTable).flatMap((name) =>
    faces.map((face) => {
      // Only whether a flag was given counts here, or that it is on.
      const flags = { [name]: true, ...face } as Flags
      return `${name} ${JSON.stringify(face)}: ${messageOf(() => checkFlagConflicts(flags))}`
    }),
  )
  const all = sorted(lines)
  expect(all).toBe(recorded('flag-agreement', all))
})

test('offers the flag for the session store in every command that reads sessions', () => {
  // A cluster has its own store.
  const parts = Object.keys(partHelp).filter((name) => name.startsWith('sessions ') && name !== 'sessions release')
  for (const name of [...parts, ...(flagTable.sessionStore.alsoOf ?? []), 'doctor', 'config'])
    expect.soft(helpText(pageNamed(name.split(' ')), 100), name).toContain('--session-store STORE')
})
