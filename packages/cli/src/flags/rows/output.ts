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

/** Flags about input and output. */
export const outputFlags: { readonly [Name in OutputFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  print: { names: ['-p', '--print'], topic: 'output', kind: 'switch', meaning: 'Answer one prompt and exit' },
  outputFormat: {
    names: ['--output-format'],
    topic: 'output',
    kind: 'value',
    value: 'FORMAT',
    read: choice(outputFormats),
    meaning:
      'Print the answer (text), the result (json; with --verbose an array of all messages), or every message as one line (stream-json; needs --verbose) (default: text)',
  },
  inputFormat: {
    names: ['--input-format'],
    topic: 'hosts',
    kind: 'value',
    value: 'FORMAT',
    read: choice(inputFormats),
    meaning:
      'Read stdin as text that is appended to the prompt (text), or as JSON messages and requests of a host, one per line (stream-json) (default: text)',
  },
  verbose: {
    names: ['--verbose'],
    topic: 'output',
    kind: 'switch',
    meaning: 'Print each step to stderr (text output)',
  },
  quiet: {
    names: ['--quiet'],
    topic: 'output',
    kind: 'switch',
    meaning:
      'Print no progress line and no closing line on a terminal; print the answer when it is complete (text output)',
  },
  includePartialMessages: {
    names: ['--include-partial-messages'],
    topic: 'output',
    kind: 'switch',
    needs: 'stream',
    meaning: 'Also emit the stream events of a reply while it arrives (stream-json output)',
  },
  includeHookEvents: {
    names: ['--include-hook-events'],
    topic: 'output',
    kind: 'switch',
    needs: 'stream',
    meaning: 'Also emit an event when a hook starts and ends (stream-json output)',
  },
  jsonSchema: {
    names: ['--json-schema'],
    topic: 'output',
    kind: 'value',
    value: 'SCHEMA',
    read: filledText,
    meaning: 'Require an answer that is JSON and fits this JSON Schema (the schema itself, or a file that contains it)',
  },
  theme: {
    names: ['--theme'],
    topic: 'output',
    kind: 'value',
    value: 'THEME',
    read: choice(themes),
    meaning: 'Set the colours of the interactive program: dark, light or none (default: detected from the terminal)',
  },
  noAnimation: {
    names: ['--no-animation'],
    topic: 'output',
    kind: 'switch',
    meaning: 'Disable animation in the interactive program, such as counting seconds; for screen readers',
  },
  promptSuggestions: {
    names: ['--prompt-suggestions'],
    topic: 'output',
    kind: 'switch',
    meaning: 'After a completed run, ask the small model for a suggested next prompt (costs one request)',
  },
  hookSummary: {
    names: ['--hook-summary'],
    topic: 'output',
    kind: 'switch',
    meaning: 'After a run, print how often its hooks ran, how long they took and what they decided',
  },
  replayUserMessages: {
    names: ['--replay-user-messages'],
    topic: 'hosts',
    kind: 'switch',
    needs: 'host',
    meaning: 'Emit each user message of the host again when the session has accepted it',
  },
  awaitInitialize: {
    names: ['--await-initialize'],
    topic: 'hosts',
    kind: 'switch',
    needs: 'host',
    meaning: 'Open nothing before the host has sent initialize',
  },
  includeAllMessages: {
    names: ['--include-all-messages'],
    topic: 'hosts',
    kind: 'switch',
    needs: 'host',
    meaning:
      'Also send messages that other agents do not have: synthetic user messages, stages after a run, session states',
  },
  debug: {
    names: ['-d', '--debug', '--debug-to-stderr'],
    topic: 'hosts',
    kind: 'value',
    value: '[WHAT]',
    read: text,
    without: '',
    needs: 'host',
    meaning: 'Log requests of the host and actions of the session to stderr; WHAT filters them (default: all)',
  },
}
