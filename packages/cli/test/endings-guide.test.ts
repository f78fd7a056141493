// Holds docs/guide/endings.md: what a person, a host and an editor see of every ending. `HALTING_WRITE=1` writes that page anew.
// Holds rules of docs/spec.md: R-TERM-24, R-TERM-25, R-TERM-26, R-ACP-5.
import { readFileSync, writeFileSync } from 'node:fs'
import { endings, type TerminalReason } from '@halting/core'
import { errorTextOf } from '@halting/core/adapters'
import { expect, test } from 'vitest'
import { sentenceOf, severityOf, stopReasons } from '../src/acp/stop-reason.ts'
import { endingShown } from '../src/terminal/view/ending-block.ts'
import { endingSentence } from '../src/terminal/view/ending-words.ts'
import { plain, terminal } from './terminal/view-support.ts'

const page = new URL('../../../docs/guide/endings.md', import.meta.url)

/** A signal as the loop, a hook, a tool or a guard writes it. */
const samples: { readonly [reason in TerminalReason]: { readonly message: string; readonly context?: object } } = {
  completed: { message: '' },
  finish_reason: { message: 'Finish reason: stop_sequence' },
  stop_requested: { message: 'The deployment is frozen' },
  max_turns: { message: 'Reached maximum number of turns (40)', context: { used: 40, limit: 40 } },
  max_budget_usd: {
    message: 'Reached maximum budget ($1): $0.97 is used, and the next request may cost up to $0.08',
    context: { used: 0.97, limit: 1, neededUsd: 0.08, limitNeededUsd: 1.05 },
  },
  token_limit: {
    message: 'Token limit reached: 95000/100000 used, and the next request may need 9000',
    context: { used: 95_000, limit: 100_000, needed: 9_000, limitNeeded: 104_000 },
  },
  max_output_tokens: { message: 'The reply was cut off at the output limit' },
  time_limit: { message: 'Time limit reached: 600s/600s', context: { used: 600_000, limit: 600_000 } },
  no_progress: { message: 'The same turn came 5 times' },
  compaction_thrash: { message: 'The window was full again right after compaction' },
  blocking_limit: {
    message: 'Prompt is too long: about 199000 tokens, and 197000 fit. Compact the conversation or start a new one.',
    context: { used: 199_000, limit: 197_000 },
  },
  structured_output_retry_exhausted: { message: 'No answer fits the schema: /port must be a number' },
  hook_stopped: { message: 'The build is red' },
  stop_hook_prevented: { message: 'Enough for today' },
  needs_approval: {
    message: 'Waiting for approval: Bash',
    context: { pending: [{ id: 'c1', name: 'Bash', message: 'no rule allows it' }] },
  },
  user_requested: { message: 'Stop requested by user' },
  aborted_streaming: { message: 'Interrupted by the user' },
  aborted_tools: { message: 'Interrupted by the user' },
  abandoned: { message: 'The consumer of the run left' },
  prompt_too_long: { message: 'prompt is too long: 210000 tokens > 200000 maximum' },
  model_error: { message: 'Overloaded (10 attempts)' },
  refusal: { message: 'The model refused to answer' },
  image_error: { message: 'The image has more than 8000 pixels in one direction' },
  error: { message: 'The tool Deploy failed: no such host' },
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
const code = (text: string): string => (text === '' ? '–' : `\`${text}\``)

function rowOf(reason: TerminalReason): string {
  const { message, context = {} } = samples[reason]
  const ended = terminal(reason, context, message)
  const limits = { maxTurns: 40, maxBudgetUsd: 1, maxTotalTokens: 100_000, maxDurationMs: 600_000 }
  const { actions, block } = endingShown({ terminal: ended, changes: '', todos: [], limits, canResume: true }, plain)
  const { subtype, exitCode } = endings[reason]
  const isSuccess = subtype === 'success'
  const offered = actions.map(({ typed, label }) => `${typed}↵ ${label}`).join(', ')
  const told = stopReasons[reason]
  // A plain success is the one line that is no sentence.
  const said =
    block.render(200)[0]?.startsWith('✓') === true ? (block.render(200)[0] ?? '') : `■ ${endingSentence(ended)}`
  return [
    code(reason),
    cell(said),
    cell(offered === '' ? '–' : offered),
    `${code(subtype)}, \`is_error: ${!isSuccess}\``,
    isSuccess ? '–' : cell(errorTextOf(ended)),
    exitCode === null ? '–' : String(exitCode),
    told === 'error' ? 'error' : code(told),
    severityOf(ended) === undefined ? '–' : cell(sentenceOf(ended)),
  ].join(' | ')
}

function pageOf(): string {
  const rows = (Object.keys(endings) as TerminalReason[]).map((reason) => `| ${rowOf(reason)} |`)
  return `# Endings, in each of the three faces

Every run ends with one of ${rows.length} reasons. A person in the terminal, a host that reads lines of \`stream-json\`, and an editor that speaks the Agent Client Protocol are told the same record: the reason, the signal with its
figures, and what can be done. This page is made of the code by \`HALTING_WRITE=1 npx vitest run packages/cli/test/endings-guide.test.ts\`; the figures are an example, and what a hook or a guard says is its own.

- **Terminal.** The sentence is printed after every run, with the name of the reason, the run's figures, files changed and what is undone. What is offered is typed and sent alone: an empty line, \`t\`, \`w\`, \`y\`. Anything else is a prompt.
- **Host.** The result line has \`subtype\`, \`is_error\`, \`errors\`, and the record as \`stop\`. \`halting -p\` exits with the code below. With \`--input-format stream-json\` it is that of the last result if this is an error, else 0.
- **Editor.** \`error\` is an answer with an error, whose \`data\` has the record; every other answer has it in \`_meta["halting/stop"]\`. \`cancelled\` is told where the editor cancelled, else it is \`end_turn\`. The sentence is a message of its own.

| reason | the terminal says | and offers | result line | \`errors[0]\` | exit code | editor: \`stopReason\` | and says |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`
}

test('docs/guide/endings.md says what the three faces say', () => {
  if (process.env['HALTING_WRITE'] === '1') writeFileSync(page, pageOf())
  expect(readFileSync(page, 'utf8')).toBe(pageOf())
})
