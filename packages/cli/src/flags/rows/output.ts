import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, inputFormats, outputFormats, themes } from '../flags.ts'
import { choice, filledText, text } from '../values.ts'

type OutputFlag =
  | 'print'
  | 'outputFormat'
  | 'inputFormat'
  | 'verbose'
  | 'quiet'
  | 'includePartialMessages'
  | 'includeHookEvents'
  | 'jsonSchema'
  | 'theme'
  | 'noAnimation'
  | 'promptSuggestions'
  | 'hookSummary'
  | 'replayUserMessages'
  | 'awaitInitialize'
  | 'includeAllMessages'
  | 'debug'

/** Flags about what goes in and out. */
export const outputFlags: { readonly [Name in OutputFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  print: { names: ['-p', '--print'], group: 'output', kind: 'switch', meaning: 'Answer one prompt and leave' },
  outputFormat: {
    names: ['--output-format'],
    group: 'output',
    kind: 'value',
    value: 'FORMAT',
    read: choice(outputFormats),
    meaning:
      'text (the answer), json (the result; with --verbose an array of every message), or stream-json (every message, a line each; needs --verbose)',
  },
  inputFormat: {
    names: ['--input-format'],
    group: 'output',
    kind: 'value',
    value: 'FORMAT',
    read: choice(inputFormats),
    meaning:
      'What comes on stdin: text, which joins the prompt, or stream-json: messages and requests of a host, a line each',
  },
  verbose: { names: ['--verbose'], group: 'output', kind: 'switch', meaning: 'With text: tell each step on stderr' },
  quiet: {
    names: ['--quiet'],
    group: 'output',
    kind: 'switch',
    meaning: 'With text on a terminal: no live line and no closing line; the answer when it is complete',
  },
  includePartialMessages: {
    names: ['--include-partial-messages'],
    group: 'output',
    kind: 'switch',
    needs: 'stream',
    meaning: 'With stream-json: also the events of a reply that is still coming',
  },
  includeHookEvents: {
    names: ['--include-hook-events'],
    group: 'output',
    kind: 'switch',
    needs: 'stream',
    meaning: 'With stream-json: also when hooks start and end',
  },
  jsonSchema: {
    names: ['--json-schema'],
    group: 'output',
    kind: 'value',
    value: 'SCHEMA',
    read: filledText,
    meaning: 'The answer must be JSON that fits this JSON Schema (the schema, or a file that holds it)',
  },
  theme: {
    names: ['--theme'],
    group: 'output',
    kind: 'value',
    value: 'THEME',
    read: choice(themes),
    meaning: 'Colours of the interactive program: dark, light or none; as the terminal says when absent',
  },
  noAnimation: {
    names: ['--no-animation'],
    group: 'output',
    kind: 'switch',
    meaning: 'Interactive: nothing moves by itself, as seconds do; for screen readers',
  },
  promptSuggestions: {
    names: ['--prompt-suggestions'],
    group: 'output',
    kind: 'switch',
    meaning: 'After a run that completed: ask the small model what may be said next. It costs a request',
  },
  hookSummary: {
    names: ['--hook-summary'],
    group: 'output',
    kind: 'switch',
    meaning: 'After a run: how often its hooks ran, how long they took, and what they decided',
  },
  replayUserMessages: {
    names: ['--replay-user-messages'],
    group: 'output',
    kind: 'switch',
    needs: 'host',
    meaning: 'With --input-format stream-json: tell each message of the host again when the session has it',
  },
  awaitInitialize: {
    names: ['--await-initialize'],
    group: 'output',
    kind: 'switch',
    needs: 'host',
    meaning: 'With --input-format stream-json: nothing is opened before the host has said initialize',
  },
  includeAllMessages: {
    names: ['--include-all-messages'],
    group: 'output',
    kind: 'switch',
    needs: 'host',
    meaning:
      'With --input-format stream-json: also send what other agents do not: synthetic user messages, stages after a run, session states',
  },
  debug: {
    names: ['-d', '--debug', '--debug-to-stderr'],
    group: 'output',
    kind: 'value',
    value: '[WHAT]',
    read: text,
    without: '',
    needs: 'host',
    meaning: 'With --input-format stream-json: tell on stderr what the host asks for and what the session does',
  },
}
